// SPDX-License-Identifier: Apache-2.0
// What the files of the Vulkan driver share.
#ifndef HONE_DEVICE_GPU_VULKAN_INTERNAL_H
#define HONE_DEVICE_GPU_VULKAN_INTERNAL_H

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan.h>

#include "base/memory.h"
#include "device/gpu/driver.h"

// Every function the driver calls, taken from libvulkan at run time.
#define VULKAN_INSTANCE_FUNCTIONS(X)                                                                                   \
    X(DestroyInstance)                                                                                                 \
    X(EnumeratePhysicalDevices)                                                                                        \
    X(GetPhysicalDeviceProperties2)                                                                                    \
    X(GetPhysicalDeviceFeatures2)                                                                                      \
    X(GetPhysicalDeviceMemoryProperties)                                                                               \
    X(GetPhysicalDeviceQueueFamilyProperties)                                                                          \
    X(CreateDevice)                                                                                                    \
    X(GetDeviceProcAddr)
#define VULKAN_DEVICE_FUNCTIONS(X)                                                                                     \
    X(DestroyDevice)                                                                                                   \
    X(GetDeviceQueue)                                                                                                  \
    X(CreateBuffer)                                                                                                    \
    X(DestroyBuffer)                                                                                                   \
    X(GetBufferMemoryRequirements)                                                                                     \
    X(AllocateMemory)                                                                                                  \
    X(FreeMemory)                                                                                                      \
    X(BindBufferMemory)                                                                                                \
    X(MapMemory)                                                                                                       \
    X(CreateShaderModule)                                                                                              \
    X(DestroyShaderModule)                                                                                             \
    X(CreateComputePipelines)                                                                                          \
    X(DestroyPipeline)                                                                                                 \
    X(CreateDescriptorSetLayout)                                                                                       \
    X(DestroyDescriptorSetLayout)                                                                                      \
    X(CreatePipelineLayout)                                                                                            \
    X(DestroyPipelineLayout)                                                                                           \
    X(CreateDescriptorPool)                                                                                            \
    X(DestroyDescriptorPool)                                                                                           \
    X(AllocateDescriptorSets)                                                                                          \
    X(UpdateDescriptorSets)                                                                                            \
    X(CreateCommandPool)                                                                                               \
    X(DestroyCommandPool)                                                                                              \
    X(AllocateCommandBuffers)                                                                                          \
    X(FreeCommandBuffers)                                                                                              \
    X(BeginCommandBuffer)                                                                                              \
    X(EndCommandBuffer)                                                                                                \
    X(CmdPipelineBarrier)                                                                                              \
    X(CmdCopyBuffer)                                                                                                   \
    X(CmdFillBuffer)                                                                                                   \
    X(CmdBindPipeline)                                                                                                 \
    X(CmdBindDescriptorSets)                                                                                           \
    X(CmdDispatch)                                                                                                     \
    X(CreateQueryPool)                                                                                                 \
    X(DestroyQueryPool)                                                                                                \
    X(GetQueryPoolResults)                                                                                             \
    X(CmdResetQueryPool)                                                                                               \
    X(CmdWriteTimestamp)                                                                                               \
    X(CreatePipelineCache)                                                                                             \
    X(DestroyPipelineCache)                                                                                            \
    X(GetPipelineCacheData)                                                                                            \
    X(CreateSemaphore)                                                                                                 \
    X(DestroySemaphore)                                                                                                \
    X(WaitSemaphores)                                                                                                  \
    X(QueueSubmit)

// One piece of host memory that bytes pass through, with the commands that copy them.
// A training step takes three or four: there are enough that the next steps can be queued while one runs.
#define VULKAN_SLOTS      16
#define VULKAN_SLOT_BYTES ((size_t)1 << 20)
typedef struct vulkan_slot {
    VkBuffer buffer;
    VkDeviceMemory memory;
    void *data;
    VkCommandBuffer commands;
    uint64_t done; // the timeline's value when the slot is free again
} vulkan_slot;

typedef struct vulkan_driver {
    hone_gpu_driver base;
    void *library;
    PFN_vkGetInstanceProcAddr GetInstanceProcAddr;
#define VULKAN_MEMBER(name) PFN_vk##name name;
    VULKAN_INSTANCE_FUNCTIONS(VULKAN_MEMBER)
    VULKAN_DEVICE_FUNCTIONS(VULKAN_MEMBER)
#undef VULKAN_MEMBER
    VkInstance instance;
    VkPhysicalDevice physical;
    VkPhysicalDeviceMemoryProperties memory;
    VkDevice device;
    uint32_t family;
    VkQueue queue;
    VkCommandPool pool;
    VkSemaphore timeline;
    uint64_t submitted;                                          // the timeline's value when all work is done
    VkDescriptorSetLayout set_layouts[HONE_KERNEL_BINDINGS + 1]; // by count of storage bindings
    VkPipelineLayout layouts[HONE_KERNEL_BINDINGS + 1];
    vulkan_slot slots[VULKAN_SLOTS];
    uint32_t next_slot;
    // A download that has returned HONE_PENDING: bytes that are done, and the slot that the next ones come through.
    bool reading;
    size_t read_bytes;
    double tick; // seconds of a timestamp's unit
    uint64_t tick_mask;
    VkPipelineCache pipelines; // VK_NULL_HANDLE where it could not be made
    size_t pipelines_bytes;    // as they were read from disk
    char pipelines_name[64], pipelines_key[512];
    // What the validation layer has said, where HONE_VULKAN_VALIDATION asks for it.
    VkDebugUtilsMessengerEXT messenger;
    uint32_t complaints; // not yet returned by a call
    char complaint[600]; // the first of them
} vulkan_driver;

struct hone_gpu_buffer {
    VkBuffer buffer;
    VkDeviceMemory memory;
};

struct hone_gpu_pipeline {
    VkPipeline pipeline;
};

// The status of a Vulkan result; `what` goes into the text.
HONE_MUST_USE hone_status vulkan_check(vulkan_driver *vk, VkResult result, const char *what, hone_error *error);
HONE_MUST_USE hone_status vulkan_allocate(vulkan_driver *vk, size_t bytes, VkBufferUsageFlags usage,
                                          VkMemoryPropertyFlags wanted, VkMemoryPropertyFlags needed, VkBuffer *buffer,
                                          VkDeviceMemory *memory, hone_error *error);
HONE_MUST_USE hone_status vulkan_submit(vulkan_driver *vk, VkCommandBuffer commands, hone_error *error);
// Waits until the timeline has reached `value`; HONE_PENDING after a tenth of a second.
HONE_MUST_USE hone_status vulkan_wait_for(vulkan_driver *vk, uint64_t value, hone_error *error);
// Pipelines that the driver has made, from and to the cache folder.
void vulkan_load_pipelines(vulkan_driver *vk);
void vulkan_save_pipelines(vulkan_driver *vk);
// The validation layer: what it adds to the instance, its messages as an error of the next call, what is left at the end.
#define VULKAN_VALIDATION_LAYER "VK_LAYER_KHRONOS_validation"
bool vulkan_wants_validation(void);
void vulkan_validation_describe(vulkan_driver *vk, VkDebugUtilsMessengerCreateInfoEXT *out);
void vulkan_validation_begin(vulkan_driver *vk);
void vulkan_validation_end(vulkan_driver *vk); // destroys the instance
// The module without its OpSource; hone_free it.
HONE_MUST_USE hone_status vulkan_without_source(const uint32_t *code, size_t bytes, uint32_t **out, size_t *out_bytes,
                                                hone_error *error);
HONE_MUST_USE hone_status vulkan_complaint(vulkan_driver *vk, hone_error *error);
// All that came before is visible to all that follows.
void vulkan_barrier(vulkan_driver *vk, VkCommandBuffer commands);
HONE_MUST_USE hone_status vulkan_make_slots(vulkan_driver *vk, hone_error *error);
void vulkan_free_slots(vulkan_driver *vk);

// --- entries of the table
hone_status vulkan_buffer_create(hone_gpu_driver *driver, size_t bytes, const char *what, hone_gpu_buffer **out,
                                 hone_error *error);
void vulkan_buffer_destroy(hone_gpu_driver *driver, hone_gpu_buffer *buffer);
hone_status vulkan_upload(hone_gpu_driver *driver, hone_gpu_buffer *buffer, size_t offset, const void *data,
                          size_t bytes, hone_error *error);
hone_status vulkan_download(hone_gpu_driver *driver, hone_gpu_buffer *buffer, size_t offset, void *data, size_t bytes,
                            hone_error *error);
hone_status vulkan_fetch_create(hone_gpu_driver *driver, size_t bytes, hone_gpu_fetch **out, hone_error *error);
void vulkan_fetch_destroy(hone_gpu_driver *driver, hone_gpu_fetch *fetch);
hone_status vulkan_fetch_begin(hone_gpu_driver *driver, hone_gpu_fetch *fetch, const hone_gpu_range *from,
                               hone_error *error);
hone_status vulkan_fetch_end(hone_gpu_driver *driver, hone_gpu_fetch *fetch, void *data, hone_error *error);
hone_status vulkan_pipeline_create(hone_gpu_driver *driver, const hone_gpu_code *code, const char *function,
                                   uint32_t binding_count, hone_gpu_pipeline **out, hone_error *error);
void vulkan_pipeline_destroy(hone_gpu_driver *driver, hone_gpu_pipeline *pipeline);
hone_status vulkan_record(hone_gpu_driver *driver, const hone_gpu_command *commands, size_t count, bool timed,
                          hone_gpu_recording **out, hone_error *error);
hone_status vulkan_timestamps(hone_gpu_driver *driver, hone_gpu_recording *recording, double *seconds,
                              hone_error *error);
void vulkan_recording_destroy(hone_gpu_driver *driver, hone_gpu_recording *recording);
hone_status vulkan_submit_recording(hone_gpu_driver *driver, hone_gpu_recording *recording, hone_error *error);

#endif
