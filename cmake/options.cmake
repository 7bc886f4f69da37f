# Compiler settings that every target shares.
add_compile_definitions(_POSIX_C_SOURCE=200809L _DEFAULT_SOURCE _FILE_OFFSET_BITS=64)
add_compile_options(-Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wvla
                    -Wno-missing-field-initializers -fvisibility=hidden
                    # a fused multiply-add only where the source asks for one, so that builds agree on every bit
                    -ffp-contract=off -fno-math-errno)
if(HONE_WERROR)
  add_compile_options(-Werror)
endif()
if(HONE_SANITIZE STREQUAL "thread")
  add_compile_options(-fsanitize=thread -fno-omit-frame-pointer)
  add_link_options(-fsanitize=thread)
elseif(HONE_SANITIZE)
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
endif()
set(CMAKE_C_FLAGS_RELEASE "-O3 -g")
