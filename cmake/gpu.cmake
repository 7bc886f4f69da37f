# The GPU devices: compiles each kernel source to SPIR-V and to WGSL and embeds both. The compiler and WebGPU's headers come
# from two wheels that tools/deps.sh unpacks; nothing of them is committed.
set(HONE_GPU_TOOLS "$ENV{HOME}/.cache/hone/gpu" CACHE PATH "where tools/deps.sh has put the files of its wheels")
if(HONE_GPU)
  find_program(HONE_SLANGC slangc PATHS ${HONE_GPU_TOOLS}/slangtorch/bin NO_DEFAULT_PATH)
  find_path(HONE_WEBGPU_INCLUDE webgpu.h PATHS ${HONE_GPU_TOOLS}/wgpu/resources NO_DEFAULT_PATH)
  find_file(HONE_WGPU_LIBRARY libwgpu_native-release.so PATHS ${HONE_GPU_TOOLS}/wgpu/resources NO_DEFAULT_PATH)
  find_path(HONE_VULKAN_INCLUDE vulkan/vulkan.h)
  set(missing "")
  if(NOT HONE_SLANGC)
    string(APPEND missing " the kernel compiler slangc;")
  endif()
  if(NOT HONE_WEBGPU_INCLUDE OR NOT HONE_WGPU_LIBRARY)
    string(APPEND missing " wgpu-native's headers and library;")
  endif()
  if(NOT HONE_VULKAN_INCLUDE)
    string(APPEND missing " Vulkan's headers (libvulkan-dev);")
  endif()
  if(missing AND NOT HONE_GPU STREQUAL AUTO)
    message(FATAL_ERROR "HONE_GPU=${HONE_GPU}: missing are${missing} run tools/deps.sh, or give -DHONE_GPU=OFF")
  elseif(missing)
    message(WARNING "hone is built without its GPU devices: missing are${missing} run tools/deps.sh, or give -DHONE_GPU=OFF")
  endif()
  if(HONE_GPU STREQUAL AUTO) # a variable in front of the cache's: the next run looks again
    if(missing)
      set(HONE_GPU OFF)
    else()
      set(HONE_GPU ON)
    endif()
  endif()
endif()

# The version of wgpu-native whose headers are compiled in: the library tells it, its headers do not.
if(HONE_GPU AND NOT DEFINED HONE_WGPU_VERSION)
  try_run(ran compiled ${PROJECT_BINARY_DIR}/wgpu_version ${CMAKE_CURRENT_LIST_DIR}/wgpu_version.c
    LINK_LIBRARIES ${CMAKE_DL_LIBS} RUN_OUTPUT_VARIABLE version ARGS ${HONE_WGPU_LIBRARY})
  if(NOT compiled OR NOT "${ran}" STREQUAL "0")
    message(FATAL_ERROR "${HONE_WGPU_LIBRARY} does not load: ${version}")
  endif()
  set(HONE_WGPU_VERSION ${version} CACHE INTERNAL "")
endif()

# Kernels are src/ops/<family>/*.slang (but for shared/) and src/device/gpu/*.slang; each becomes one C file. `out` gets the
# list of C files.
function(hone_embed_kernels out)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/ops/*/*.slang ${CMAKE_CURRENT_SOURCE_DIR}/device/gpu/*.slang)
  file(GLOB shared CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/ops/shared/*.slang)
  list(REMOVE_ITEM sources ${shared})
  file(GLOB codes CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/ops/*/*_words.h)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/kernels)
  file(MAKE_DIRECTORY ${folder})
  set(declarations "")
  set(entries "")
  set(files "")
  foreach(source ${sources})
    get_filename_component(name ${source} NAME_WE)
    set(compile ${HONE_SLANGC} ${source} -I ${CMAKE_CURRENT_SOURCE_DIR})
    add_custom_command(
      OUTPUT ${folder}/${name}.c
      COMMAND ${compile} -target spirv -profile spirv_1_6 -O0 -fvk-use-entrypoint-name -o ${folder}/${name}.spv
      COMMAND ${compile} -target wgsl -o ${folder}/${name}.wgsl
      COMMAND ${CMAKE_COMMAND} -DNAME=${name} -DFOLDER=${folder} -P ${PROJECT_SOURCE_DIR}/cmake/embed_kernel.cmake
      DEPENDS ${source} ${shared} ${codes} ${PROJECT_SOURCE_DIR}/cmake/embed_kernel.cmake
      COMMENT "Kernel ${name}"
      VERBATIM)
    list(APPEND files ${folder}/${name}.c)
    string(APPEND declarations "extern const uint32_t hone_spirv_${name}[];\nextern const size_t hone_spirv_bytes_${name};\n")
    string(APPEND declarations "extern const char hone_wgsl_${name}[];\n")
    string(APPEND entries "    {\"${name}\", hone_spirv_${name}, &hone_spirv_bytes_${name}, hone_wgsl_${name}},\n")
  endforeach()
  file(CONFIGURE OUTPUT ${folder}/kernels_table.c @ONLY CONTENT
"// Generated from the kernel sources. One entry a file.
#include \"device/gpu/driver.h\"

@declarations@
const hone_gpu_code hone_gpu_codes[] = {
@entries@    {0},
};
")
  # What the result of a self-test and a driver's pipelines hold for: the kernels and all that decides how they are called.
  file(GLOB_RECURSE rules CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/ops/*.[ch])
  set(hashed ${files} ${rules})
  file(CONFIGURE OUTPUT ${folder}/hashed.txt CONTENT "@hashed@" @ONLY)
  add_custom_command(
    OUTPUT ${folder}/kernels_hash.c
    COMMAND ${CMAKE_COMMAND} -DFILES=${folder}/hashed.txt -DOUT=${folder}/kernels_hash.c
            -P ${PROJECT_SOURCE_DIR}/cmake/hash_kernels.cmake
    DEPENDS ${hashed} ${folder}/hashed.txt ${PROJECT_SOURCE_DIR}/cmake/hash_kernels.cmake
    COMMENT "Hash of the kernels"
    VERBATIM)
  set(${out} ${files} ${folder}/kernels_table.c ${folder}/kernels_hash.c PARENT_SCOPE)
endfunction()

function(hone_gpu_libraries target)
  target_compile_definitions(${target} PRIVATE HONE_GPU HONE_WGPU_LIBRARY="${HONE_WGPU_LIBRARY}"
    HONE_WGPU_VERSION=${HONE_WGPU_VERSION} HONE_LIBRARY_FOLDER="${CMAKE_INSTALL_LIBDIR}")
  target_include_directories(${target} SYSTEM PRIVATE ${HONE_WEBGPU_INCLUDE} ${HONE_VULKAN_INCLUDE})
  target_link_libraries(${target} PUBLIC ${CMAKE_DL_LIBS})
endfunction()
