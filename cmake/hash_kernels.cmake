# Run as a script: one hash of all the files that the list in FILES names, as a C file OUT.
file(READ ${FILES} files)
set(hashes "")
foreach(file ${files})
  file(SHA256 ${file} hash)
  string(APPEND hashes ${hash})
endforeach()
string(SHA256 hash "${hashes}")
string(SUBSTRING ${hash} 0 16 hash)
file(WRITE ${OUT} "// Generated.
extern const char hone_gpu_kernels_hash[];
const char hone_gpu_kernels_hash[] = \"${hash}\";
")
