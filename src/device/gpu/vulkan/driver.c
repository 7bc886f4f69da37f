// SPDX-License-Identifier: Apache-2.0
// Opening Vulkan: the library, the GPU, its limits, the one queue.
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "device/device.h"
#include "device/gpu/vulkan/internal.h"

#define VULKAN_MAX_GPUS 16

hone_status vulkan_check(vulkan_driver *vk, VkResult result, const char *what, hone_error *error) {
    switch (result) {
    case VK_SUCCESS:
        return HONE_OK;
    case VK_ERROR_OUT_OF_HOST_MEMORY:
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
        HONE_FAIL(error, OUT_OF_MEMORY, "vulkan: no memory for %s", what);
    case VK_ERROR_DEVICE_LOST:
        vk->base.lost = true;
        HONE_FAIL(error, DEVICE_LOST, "vulkan: the GPU was lost during %s", what);
    default:
        HONE_FAIL(error, UNSUPPORTED, "vulkan: %s failed with result %d", what, (int)result);
    }
}

static void *symbol(void *library, const char *name) {
    return dlsym(library, name);
}

static hone_status open_instance(vulkan_driver *vk, hone_error *error) {
    bool checked = false;
    HONE_TRY(hone_device_switch("HONE_VULKAN_VALIDATION", "1", "0", &checked, error));
    vk->library = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
    HONE_FAIL_IF(!vk->library, error, NOT_FOUND,
                 "vulkan: libvulkan.so.1 is not installed: it comes with a GPU's driver, or as libvulkan1");
    *(void **)&vk->GetInstanceProcAddr = symbol(vk->library, "vkGetInstanceProcAddr");
    HONE_FAIL_IF(!vk->GetInstanceProcAddr, error, NOT_FOUND, "vulkan: libvulkan.so.1 is not Vulkan's loader");
    const PFN_vkCreateInstance create = (PFN_vkCreateInstance)vk->GetInstanceProcAddr(NULL, "vkCreateInstance");
    const VkApplicationInfo application = {
        .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .pApplicationName = "hone", .apiVersion = VK_API_VERSION_1_3};
    const char *const layer = VULKAN_VALIDATION_LAYER;
    const char *const extension = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
    VkDebugUtilsMessengerCreateInfoEXT messenger;
    vulkan_validation_describe(vk, &messenger);
    const VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                       .pNext = checked ? &messenger : NULL,
                                       .pApplicationInfo = &application,
                                       .enabledLayerCount = checked,
                                       .ppEnabledLayerNames = &layer,
                                       .enabledExtensionCount = checked,
                                       .ppEnabledExtensionNames = &extension};
    const VkResult made = create ? create(&info, NULL, &vk->instance) : VK_ERROR_INITIALIZATION_FAILED;
    HONE_FAIL_IF(checked && made == VK_ERROR_LAYER_NOT_PRESENT, error, NOT_FOUND,
                 "vulkan: HONE_VULKAN_VALIDATION=1, but %s is not installed", layer);
    HONE_FAIL_IF(made != VK_SUCCESS, error, NOT_FOUND, "vulkan: no GPU's driver for Vulkan could be started");
#define VULKAN_LOAD(name) vk->name = (PFN_vk##name)vk->GetInstanceProcAddr(vk->instance, "vk" #name);
    VULKAN_INSTANCE_FUNCTIONS(VULKAN_LOAD)
#undef VULKAN_LOAD
    HONE_FAIL_IF(!vk->GetPhysicalDeviceProperties2 || !vk->GetDeviceProcAddr, error, NOT_FOUND,
                 "vulkan: the installed loader is older than Vulkan 1.1");
    if (checked) vulkan_validation_begin(vk);
    return HONE_OK;
}

// 0: hone cannot use it.
static int worth(const VkPhysicalDeviceProperties *properties) {
    if (properties->apiVersion < VK_API_VERSION_1_3) return 0;
    switch (properties->deviceType) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
        return 5;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
        return 4;
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
        return 1;
    default:
        return 3;
    }
}

static hone_status list_gpus(vulkan_driver *vk, VkPhysicalDevice *gpus, uint32_t *count, hone_error *error) {
    *count = VULKAN_MAX_GPUS;
    const VkResult result = vk->EnumeratePhysicalDevices(vk->instance, count, gpus);
    HONE_FAIL_IF((result != VK_SUCCESS && result != VK_INCOMPLETE) || *count == 0, error, NOT_FOUND,
                 "vulkan: no GPU with a Vulkan driver was found");
    return HONE_OK;
}

static hone_status choose_gpu(vulkan_driver *vk, const hone_gpu_request *request, hone_error *error) {
    VkPhysicalDevice gpus[VULKAN_MAX_GPUS];
    uint32_t count;
    const int index = request->index;
    HONE_TRY(list_gpus(vk, gpus, &count, error));
    HONE_FAIL_IF(index >= (int)count, error, NOT_FOUND, "vulkan:%d: only GPUs 0 to %u are there", index, count - 1);
    int best = -1;
    char name[VK_MAX_PHYSICAL_DEVICE_NAME_SIZE] = "";
    for (uint32_t i = 0; i < count; i++) {
        VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
        vk->GetPhysicalDeviceProperties2(gpus[i], &properties);
        const int now = worth(&properties.properties);
        if (index >= 0 ? (int)i != index : now <= best) continue;
        best = now;
        vk->physical = gpus[i];
        memcpy(name, properties.properties.deviceName, sizeof(name));
    }
    HONE_FAIL_IF(best == 0, error, UNSUPPORTED, "vulkan: %s offers less than Vulkan 1.3: a newer driver may", name);
    HONE_FAIL_IF(best == 1 && request->hardware, error, NOT_FOUND,
                 "vulkan: %s is no GPU but a program: only --device vulkan takes it", name);
    return HONE_OK;
}

static size_t memory_of(vulkan_driver *vk) {
    size_t bytes = 0;
    vk->GetPhysicalDeviceMemoryProperties(vk->physical, &vk->memory);
    for (uint32_t i = 0; i < vk->memory.memoryHeapCount; i++) {
        const VkMemoryHeap *const heap = &vk->memory.memoryHeaps[i];
        if (heap->flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT && heap->size > bytes) bytes = heap->size;
    }
    return bytes;
}

static void read_limits(vulkan_driver *vk) {
    VkPhysicalDeviceVulkan12Properties driver = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES};
    VkPhysicalDeviceVulkan13Properties sizes = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_PROPERTIES,
                                                .pNext = &driver};
    VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &sizes};
    vk->GetPhysicalDeviceProperties2(vk->physical, &properties);
    const VkPhysicalDeviceLimits *const limits = &properties.properties.limits;
    vk->base.limits = (hone_gpu_limits){.buffer_bytes = sizes.maxBufferSize,
                                        .binding_bytes = limits->maxStorageBufferRange,
                                        .groups = limits->maxComputeWorkGroupCount[0],
                                        .copy_alignment = 1,
                                        .threads = !vulkan_wants_validation(), // whose messages need their order
                                        .overlap = true};
    if (limits->maxComputeWorkGroupCount[1] < vk->base.limits.groups)
        vk->base.limits.groups = limits->maxComputeWorkGroupCount[1];
    vk->tick = limits->timestampPeriod * 1e-9;
    hone_gpu_facts *const facts = &vk->base.facts;
    facts->memory_bytes = memory_of(vk);
    facts->staging_bytes = VULKAN_SLOTS * VULKAN_SLOT_BYTES;
    facts->software = properties.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
    snprintf(facts->gpu, sizeof(facts->gpu), "%.127s", properties.properties.deviceName);
    snprintf(facts->driver, sizeof(facts->driver), "%.50s %.70s", driver.driverName, driver.driverInfo);
}

static hone_status choose_queue(vulkan_driver *vk, hone_error *error) {
    VkQueueFamilyProperties families[16];
    uint32_t count = 16;
    vk->GetPhysicalDeviceQueueFamilyProperties(vk->physical, &count, families);
    for (vk->family = 0; vk->family < count; vk->family++) {
        if (!(families[vk->family].queueFlags & VK_QUEUE_COMPUTE_BIT)) continue;
        const uint32_t bits = families[vk->family].timestampValidBits;
        vk->base.limits.timestamps = bits > 0 && vk->tick > 0;
        vk->tick_mask = bits < 64 ? ((uint64_t)1 << bits) - 1 : UINT64_MAX;
        return HONE_OK;
    }
    HONE_FAIL(error, UNSUPPORTED, "vulkan: %s does not compute", vk->base.facts.gpu);
}

static hone_status open_device(vulkan_driver *vk, hone_error *error) {
    HONE_TRY(choose_queue(vk, error));
    const float priority = 1;
    const VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                           .queueFamilyIndex = vk->family,
                                           .queueCount = 1,
                                           .pQueuePriorities = &priority};
    VkPhysicalDeviceVulkan13Features wanted13 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES,
                                                 .maintenance4 = VK_TRUE};
    VkPhysicalDeviceVulkan12Features wanted12 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                                                 .pNext = &wanted13,
                                                 .timelineSemaphore = VK_TRUE};
    const VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                     .pNext = &wanted12,
                                     .queueCreateInfoCount = 1,
                                     .pQueueCreateInfos = &queue};
    HONE_TRY(vulkan_check(vk, vk->CreateDevice(vk->physical, &info, NULL, &vk->device), "opening the GPU", error));
#define VULKAN_LOAD(name)                                                                                              \
    vk->name = (PFN_vk##name)vk->GetDeviceProcAddr(vk->device, "vk" #name);                                            \
    HONE_FAIL_IF(!vk->name, error, UNSUPPORTED, "vulkan: the driver lacks vk%s", #name);
    VULKAN_DEVICE_FUNCTIONS(VULKAN_LOAD)
#undef VULKAN_LOAD
    vk->GetDeviceQueue(vk->device, vk->family, 0, &vk->queue);
    const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                          .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                          .queueFamilyIndex = vk->family};
    HONE_TRY(vulkan_check(vk, vk->CreateCommandPool(vk->device, &pool, NULL, &vk->pool), "a command pool", error));
    const VkSemaphoreTypeCreateInfo timeline = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                                .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
    const VkSemaphoreCreateInfo semaphore = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &timeline};
    return vulkan_check(vk, vk->CreateSemaphore(vk->device, &semaphore, NULL, &vk->timeline), "a semaphore", error);
}

// One layout for each count of storage bindings.
static hone_status make_layouts(vulkan_driver *vk, hone_error *error) {
    VkDescriptorSetLayoutBinding bindings[HONE_KERNEL_BINDINGS + 1];
    for (uint32_t i = 0; i <= HONE_KERNEL_BINDINGS; i++) {
        bindings[i] = (VkDescriptorSetLayoutBinding){.binding = i,
                                                     .descriptorType = i ? VK_DESCRIPTOR_TYPE_STORAGE_BUFFER
                                                                         : VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER,
                                                     .descriptorCount = 1,
                                                     .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT};
        const VkDescriptorSetLayoutCreateInfo set = {
            .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, .bindingCount = i + 1, .pBindings = bindings};
        HONE_TRY(vulkan_check(vk, vk->CreateDescriptorSetLayout(vk->device, &set, NULL, &vk->set_layouts[i]),
                              "a layout", error));
        const VkPipelineLayoutCreateInfo layout = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                                   .setLayoutCount = 1,
                                                   .pSetLayouts = &vk->set_layouts[i]};
        HONE_TRY(
            vulkan_check(vk, vk->CreatePipelineLayout(vk->device, &layout, NULL, &vk->layouts[i]), "a layout", error));
    }
    return HONE_OK;
}

static void close_device(vulkan_driver *vk) {
    if (vk->timeline && !vk->base.lost) {
        while (vulkan_wait_for(vk, vk->submitted, NULL) == HONE_PENDING) {
        }
    }
    vulkan_free_slots(vk);
    vulkan_save_pipelines(vk);
    for (uint32_t i = 0; i <= HONE_KERNEL_BINDINGS; i++) {
        if (vk->layouts[i]) vk->DestroyPipelineLayout(vk->device, vk->layouts[i], NULL);
        if (vk->set_layouts[i]) vk->DestroyDescriptorSetLayout(vk->device, vk->set_layouts[i], NULL);
    }
    if (vk->timeline) vk->DestroySemaphore(vk->device, vk->timeline, NULL);
    if (vk->pool) vk->DestroyCommandPool(vk->device, vk->pool, NULL);
    if (vk->DestroyDevice) vk->DestroyDevice(vk->device, NULL);
}

// The first instance of a process is never destroyed, and with it a GPU's driver stays loaded: each loading takes some of the
// process's room for thread-local memory, which NVIDIA's driver does not give back (after 30 times it cannot be loaded).
static bool keeps_instance(const vulkan_driver *vk) {
    static _Atomic(VkInstance) kept;
    VkInstance none = VK_NULL_HANDLE;
    return vk->instance && atomic_compare_exchange_strong(&kept, &none, vk->instance);
}

static void vulkan_close(hone_gpu_driver *driver) {
    vulkan_driver *const vk = (vulkan_driver *)driver;
    if (vk->device) close_device(vk);
    if (vk->instance && vk->DestroyInstance && vulkan_wants_validation()) vulkan_validation_end(vk);
    if (!keeps_instance(vk)) {
        if (vk->instance && vk->DestroyInstance) vk->DestroyInstance(vk->instance, NULL);
        if (vk->library) dlclose(vk->library);
    }
    hone_free(vk);
}

static hone_status vulkan_wait(hone_gpu_driver *driver, hone_error *error) {
    vulkan_driver *const vk = (vulkan_driver *)driver;
    HONE_TRY(vulkan_complaint(vk, error));
    return vulkan_wait_for(vk, vk->submitted, error);
}

static const hone_gpu_driver_vtable vulkan_vtable = {
    .close = vulkan_close,
    .buffer_create = vulkan_buffer_create,
    .buffer_destroy = vulkan_buffer_destroy,
    .upload = vulkan_upload,
    .download = vulkan_download,
    .fetch_create = vulkan_fetch_create,
    .fetch_destroy = vulkan_fetch_destroy,
    .fetch_begin = vulkan_fetch_begin,
    .fetch_end = vulkan_fetch_end,
    .pipeline_create = vulkan_pipeline_create,
    .pipeline_destroy = vulkan_pipeline_destroy,
    .record = vulkan_record,
    .recording_destroy = vulkan_recording_destroy,
    .submit = vulkan_submit_recording,
    .wait = vulkan_wait,
    .timestamps = vulkan_timestamps,
};

hone_status hone_vulkan_driver_open(const hone_gpu_request *request, hone_gpu_driver **out, hone_error *error) {
    *out = NULL;
    vulkan_driver *vk;
    HONE_TRY(HONE_NEW(&vk, "the Vulkan driver", error));
    vk->base.vtable = &vulkan_vtable;
    hone_status status;
    HONE_TRY_GOTO(open_instance(vk, error), failed);
    HONE_TRY_GOTO(choose_gpu(vk, request, error), failed);
    read_limits(vk);
    HONE_TRY_GOTO(open_device(vk, error), failed);
    HONE_TRY_GOTO(make_layouts(vk, error), failed);
    HONE_TRY_GOTO(vulkan_make_slots(vk, error), failed);
    vulkan_load_pipelines(vk);
    *out = &vk->base;
    return HONE_OK;
failed:
    vulkan_close(&vk->base);
    return status;
}

hone_status hone_vulkan_count(size_t *out, hone_error *error) {
    VkPhysicalDevice gpus[VULKAN_MAX_GPUS];
    uint32_t count = 0;
    vulkan_driver *vk;
    *out = 0;
    HONE_TRY(HONE_NEW(&vk, "the Vulkan driver", error));
    hone_status status = open_instance(vk, error);
    if (status == HONE_OK) status = list_gpus(vk, gpus, &count, error);
    if (status == HONE_OK) *out = count;
    vulkan_close(&vk->base);
    return status;
}
