# One static library per folder of src/, from lowest to highest; each sees those before it and no other.
set(HONE_LAYERS base tensor graph ops device formats text model train)

function(hone_add_layer name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.c)
  list(FILTER sources EXCLUDE REGEX "_cases\\.c$")
  if(NOT HONE_GPU)
    list(FILTER sources EXCLUDE REGEX "/device/gpu/")
  endif()
  add_library(hone_${name} STATIC ${sources} ${ARGN})
  target_include_directories(hone_${name} PUBLIC ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
endfunction()
