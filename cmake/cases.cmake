# The operators' tables of cases: src/ops/<family>/<family>_cases.c defines hone_cases_<family>[]. The list of tables is
# generated from the folders, as the table of operators is. opcheck runs them all; make_cases copies some into the library
# and the command line.
file(GLOB case_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/ops/*/*_cases.c)
set(declarations "")
set(entries "")
foreach(file ${case_files})
  get_filename_component(stem ${file} NAME_WE)
  string(REGEX REPLACE "_cases$" "" family ${stem})
  string(APPEND declarations "extern const hone_op_case hone_cases_${family}[];\n")
  string(APPEND entries "    hone_cases_${family},\n")
endforeach()
set(generated ${CMAKE_CURRENT_BINARY_DIR}/case_tables.c)
file(CONFIGURE OUTPUT ${generated} @ONLY CONTENT
"// Generated from the folders of src/ops. One entry a table of cases.
#include \"opcheck/opcheck.h\"

@declarations@
const hone_op_case *const hone_case_tables[] = {
@entries@    0,
};
")
add_library(hone_cases OBJECT ${case_files} ${generated})
target_include_directories(hone_cases PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src
                           ${PROJECT_SOURCE_DIR}/tests)
add_executable(make_cases ${PROJECT_SOURCE_DIR}/tools/make_cases.c $<TARGET_OBJECTS:hone_cases>)
target_include_directories(make_cases PRIVATE ${PROJECT_SOURCE_DIR}/tests)
target_link_libraries(make_cases PRIVATE hone_graph)
foreach(kind selftest bench)
  set(HONE_CASES_${kind} ${CMAKE_CURRENT_BINARY_DIR}/${kind}_cases.c)
  add_custom_command(OUTPUT ${HONE_CASES_${kind}} COMMAND make_cases ${kind} > ${HONE_CASES_${kind}} DEPENDS make_cases
                     COMMENT "Cases for ${kind}" VERBATIM)
endforeach()
add_library(hone_bench_table OBJECT ${HONE_CASES_bench})
target_include_directories(hone_bench_table PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
