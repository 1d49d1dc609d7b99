# What a wheel was made of, as CycloneDX 1.5: <build>/infini.cdx.json. Opened at run time and thus not part of it: drivers,
# cuBLASLt, OpenBLAS, oneDNN, NCCL.
execute_process(COMMAND ${Python_EXECUTABLE} -c "import nanobind; print(nanobind.__version__)"
                OUTPUT_VARIABLE nanobind_version OUTPUT_STRIP_TRAILING_WHITESPACE)
set(sbom_components "")
function(sbom_component name version license purl)
  string(APPEND sbom_components ",
    {\"type\": \"library\", \"name\": \"${name}\", \"version\": \"${version}\", \"purl\": \"${purl}@${version}\",
     \"licenses\": [{\"license\": ${license}}]}")
  set(sbom_components "${sbom_components}" PARENT_SCOPE)
endfunction()
sbom_component(nanobind "${nanobind_version}" [[{"id": "BSD-3-Clause"}]] pkg:pypi/nanobind)
if(TARGET infini-nvidia)
  sbom_component(cudart_static "${CUDAToolkit_VERSION}" [[{"name": "CUDA Toolkit EULA"}]] pkg:generic/cudart_static)
endif()
string(SUBSTRING "${sbom_components}" 1 -1 sbom_components)
file(WRITE ${PROJECT_BINARY_DIR}/infini.cdx.json "{
  \"bomFormat\": \"CycloneDX\", \"specVersion\": \"1.5\", \"version\": 1,
  \"metadata\": {\"component\": {\"type\": \"library\", \"name\": \"infini-tensors\", \"version\": \"${PROJECT_VERSION}\",
    \"purl\": \"pkg:pypi/infini-tensors@${PROJECT_VERSION}\", \"licenses\": [{\"license\": {\"id\": \"MIT\"}}]},
    \"tools\": {\"components\": [{\"type\": \"application\", \"name\": \"${CMAKE_CXX_COMPILER_ID}\", \"version\": \"${CMAKE_CXX_COMPILER_VERSION}\"}]}},
  \"components\": [${sbom_components}
  ]
}
")
