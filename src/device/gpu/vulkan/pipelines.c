// SPDX-License-Identifier: Apache-2.0
// Vulkan pipelines, and what the driver has compiled of them kept on disk: a second start need not compile.
#include <stdio.h>
#include <string.h>

#include "device/gpu/cache.h"
#include "device/gpu/vulkan/internal.h"

// The file is the GPU's, by its UUID; the driver's version and the kernels stand in the key, so that a new driver replaces it.
static void name_pipelines(vulkan_driver *vk) {
    VkPhysicalDeviceIDProperties id = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES};
    VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &id};
    vk->GetPhysicalDeviceProperties2(vk->physical, &properties);
    const uint64_t gpu =
        gpu_cache_hash(gpu_cache_hash(0, id.deviceUUID, VK_UUID_SIZE), vk->base.facts.gpu, strlen(vk->base.facts.gpu));
    const uint64_t cache = gpu_cache_hash(0, properties.properties.pipelineCacheUUID, VK_UUID_SIZE);
    snprintf(vk->pipelines_name, sizeof(vk->pipelines_name), "vulkan-%016llx.pipelines", (unsigned long long)gpu);
    snprintf(vk->pipelines_key, sizeof(vk->pipelines_key), "%s, %s, cache %016llx, kernels %s", vk->base.facts.gpu,
             vk->base.facts.driver, (unsigned long long)cache, hone_gpu_kernels_hash);
}

void vulkan_load_pipelines(vulkan_driver *vk) {
    char *data = NULL;
    name_pipelines(vk);
    if (gpu_cache_read(vk->pipelines_name, vk->pipelines_key, &data, &vk->pipelines_bytes, NULL) != HONE_OK)
        vk->pipelines_bytes = 0;
    VkPipelineCacheCreateInfo info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO,
                                      .initialDataSize = vk->pipelines_bytes,
                                      .pInitialData = data};
    if (vk->CreatePipelineCache(vk->device, &info, NULL, &vk->pipelines) != VK_SUCCESS) vk->pipelines = VK_NULL_HANDLE;
    hone_free(data);
}

// Nothing depends on it: what fails is compiled again the next time.
void vulkan_save_pipelines(vulkan_driver *vk) {
    size_t bytes = 0;
    void *data = NULL;
    if (!vk->pipelines) return;
    if (!vk->base.lost && vk->GetPipelineCacheData(vk->device, vk->pipelines, &bytes, NULL) == VK_SUCCESS &&
        bytes != vk->pipelines_bytes && hone_allocate_raw(bytes, 1, "pipelines", &data, NULL) == HONE_OK &&
        vk->GetPipelineCacheData(vk->device, vk->pipelines, &bytes, data) == VK_SUCCESS)
        gpu_cache_write(vk->pipelines_name, vk->pipelines_key, data, bytes);
    hone_free(data);
    vk->DestroyPipelineCache(vk->device, vk->pipelines, NULL);
}

// --- pipelines -------------------------------------------------------------------------------------------------------
static hone_status make_module(vulkan_driver *vk, const hone_gpu_code *code, VkShaderModule *out, hone_error *error) {
    VkShaderModuleCreateInfo source = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = *code->spirv_bytes, .pCode = code->spirv};
    uint32_t *copy = NULL;
    if (vulkan_wants_validation()) {
        HONE_TRY(vulkan_without_source(code->spirv, *code->spirv_bytes, &copy, &source.codeSize, error));
        source.pCode = copy;
    }
    const VkResult result = vk->CreateShaderModule(vk->device, &source, NULL, out);
    hone_free(copy);
    return vulkan_check(vk, result, code->name, error);
}

hone_status vulkan_pipeline_create(hone_gpu_driver *driver, const hone_gpu_code *code, const char *function,
                                   uint32_t binding_count, hone_gpu_pipeline **out, hone_error *error) {
    vulkan_driver *const vk = (vulkan_driver *)driver;
    VkShaderModule module;
    HONE_TRY(make_module(vk, code, &module, error));
    hone_gpu_pipeline *pipeline;
    hone_status status;
    HONE_TRY_GOTO(HONE_NEW(&pipeline, "a pipeline", error), done);
    const VkComputePipelineCreateInfo info = {.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
                                              .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                                        .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                                                        .module = module,
                                                        .pName = function},
                                              .layout = vk->layouts[binding_count]};
    status =
        vulkan_check(vk, vk->CreateComputePipelines(vk->device, vk->pipelines, 1, &info, NULL, &pipeline->pipeline),
                     function, error);
    if (status == HONE_OK) status = vulkan_complaint(vk, error);
    if (status == HONE_OK)
        *out = pipeline;
    else
        vulkan_pipeline_destroy(driver, pipeline);
done:
    vk->DestroyShaderModule(vk->device, module, NULL);
    return status;
}

void vulkan_pipeline_destroy(hone_gpu_driver *driver, hone_gpu_pipeline *pipeline) {
    vulkan_driver *const vk = (vulkan_driver *)driver;
    if (pipeline->pipeline) vk->DestroyPipeline(vk->device, pipeline->pipeline, NULL);
    hone_free(pipeline);
}
