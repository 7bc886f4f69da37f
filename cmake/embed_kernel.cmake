# Run as a script: FOLDER/NAME.spv and FOLDER/NAME.wgsl into the arrays of FOLDER/NAME.c.
file(READ ${FOLDER}/${NAME}.spv spirv HEX)
string(REGEX REPLACE "(..)(..)(..)(..)" "0x\\4\\3\\2\\1," spirv "${spirv}")
string(REGEX REPLACE "(0x........,0x........,0x........,0x........,0x........,0x........,0x........,0x........,)" "\\1\n" spirv "${spirv}")
file(READ ${FOLDER}/${NAME}.wgsl wgsl HEX)
string(REGEX REPLACE "(..)" "0x\\1," wgsl "${wgsl}")
string(REGEX REPLACE "((0x..,0x..,0x..,0x..,)(0x..,0x..,0x..,0x..,)(0x..,0x..,0x..,0x..,)(0x..,0x..,0x..,0x..,))" "\\1\n" wgsl "${wgsl}")
file(WRITE ${FOLDER}/${NAME}.c "// Generated: the kernels of ${NAME} as SPIR-V and as WGSL.
#include <stddef.h>
#include <stdint.h>

extern const uint32_t hone_spirv_${NAME}[];
extern const size_t hone_spirv_bytes_${NAME};
extern const char hone_wgsl_${NAME}[];

const uint32_t hone_spirv_${NAME}[] = {
${spirv}
};
const size_t hone_spirv_bytes_${NAME} = sizeof(hone_spirv_${NAME});
const char hone_wgsl_${NAME}[] = {
${wgsl}0};
")
