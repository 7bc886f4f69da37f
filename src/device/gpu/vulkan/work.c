// SPDX-License-Identifier: Apache-2.0
// Vulkan work: pipelines, command buffers that are recorded once and submitted often, and the timeline that counts them.
#include "device/gpu/vulkan/internal.h"

struct hone_gpu_recording {
    VkDescriptorPool pool;
    VkCommandBuffer commands;
    VkQueryPool queries; // where timed: a timestamp before the first command, and one behind each
    uint32_t count;      // of commands
};

void vulkan_barrier(vulkan_driver *vk, VkCommandBuffer commands) {
    const VkMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                     .srcAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT,
                                     .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT};
    vk->CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                           VK_PIPELINE_STAGE_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0, NULL, 0,
                           NULL);
}

hone_status vulkan_submit(vulkan_driver *vk, VkCommandBuffer commands, hone_error *error) {
    const uint64_t value = vk->submitted + 1;
    const VkTimelineSemaphoreSubmitInfo timeline = {.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                                    .signalSemaphoreValueCount = 1,
                                                    .pSignalSemaphoreValues = &value};
    const VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                               .pNext = &timeline,
                               .commandBufferCount = 1,
                               .pCommandBuffers = &commands,
                               .signalSemaphoreCount = 1,
                               .pSignalSemaphores = &vk->timeline};
    HONE_TRY(vulkan_check(vk, vk->QueueSubmit(vk->queue, 1, &info, VK_NULL_HANDLE), "a submit", error));
    vk->submitted = value;
    return HONE_OK;
}

hone_status vulkan_wait_for(vulkan_driver *vk, uint64_t value, hone_error *error) {
    const VkSemaphoreWaitInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                      .semaphoreCount = 1,
                                      .pSemaphores = &vk->timeline,
                                      .pValues = &value};
    const VkResult result = vk->WaitSemaphores(vk->device, &info, 100 * 1000 * 1000);
    return result == VK_TIMEOUT ? HONE_PENDING : vulkan_check(vk, result, "waiting", error);
}

// --- recordings ------------------------------------------------------------------------------------------------------
static void write_set(vulkan_driver *vk, VkDescriptorSet set, const hone_gpu_command *command) {
    VkDescriptorBufferInfo buffers[HONE_KERNEL_BINDINGS + 1];
    VkWriteDescriptorSet writes[HONE_KERNEL_BINDINGS + 1];
    for (uint32_t i = 0; i <= command->binding_count; i++) {
        const hone_gpu_range *const range = i ? &command->bindings[i - 1] : &command->parameters;
        buffers[i] = (VkDescriptorBufferInfo){range->buffer->buffer, range->offset, range->bytes};
        writes[i] = (VkWriteDescriptorSet){.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                           .dstSet = set,
                                           .dstBinding = i,
                                           .descriptorCount = 1,
                                           .descriptorType = i ? VK_DESCRIPTOR_TYPE_STORAGE_BUFFER
                                                               : VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER,
                                           .pBufferInfo = &buffers[i]};
    }
    vk->UpdateDescriptorSets(vk->device, command->binding_count + 1, writes, 0, NULL);
}

static hone_status add_command(vulkan_driver *vk, hone_gpu_recording *recording, const hone_gpu_command *command,
                               bool waits, hone_error *error) {
    VkDescriptorSet set;
    const VkDescriptorSetAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                              .descriptorPool = recording->pool,
                                              .descriptorSetCount = 1,
                                              .pSetLayouts = &vk->set_layouts[command->binding_count]};
    HONE_TRY(vulkan_check(vk, vk->AllocateDescriptorSets(vk->device, &info, &set), "a descriptor set", error));
    write_set(vk, set, command);
    if (waits) vulkan_barrier(vk, recording->commands);
    vk->CmdBindPipeline(recording->commands, VK_PIPELINE_BIND_POINT_COMPUTE, command->pipeline->pipeline);
    vk->CmdBindDescriptorSets(recording->commands, VK_PIPELINE_BIND_POINT_COMPUTE, vk->layouts[command->binding_count],
                              0, 1, &set, 0, NULL);
    vk->CmdDispatch(recording->commands, command->groups[0], command->groups[1], 1);
    if (recording->queries)
        vk->CmdWriteTimestamp(recording->commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, recording->queries,
                              ++recording->count);
    return HONE_OK;
}

static hone_status fill_recording(vulkan_driver *vk, hone_gpu_recording *recording, const hone_gpu_command *commands,
                                  size_t count, hone_error *error) {
    const VkDescriptorPoolSize sizes[] = {{VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, (uint32_t)count},
                                          {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, (uint32_t)count * HONE_KERNEL_BINDINGS}};
    const VkDescriptorPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                             .maxSets = (uint32_t)count,
                                             .poolSizeCount = 2,
                                             .pPoolSizes = sizes};
    HONE_TRY(
        vulkan_check(vk, vk->CreateDescriptorPool(vk->device, &pool, NULL, &recording->pool), "descriptors", error));
    const VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                              .commandPool = vk->pool,
                                              .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                              .commandBufferCount = 1};
    HONE_TRY(vulkan_check(vk, vk->AllocateCommandBuffers(vk->device, &info, &recording->commands), "commands", error));
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                            .flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT};
    HONE_TRY(vulkan_check(vk, vk->BeginCommandBuffer(recording->commands, &begin), "recording", error));
    if (recording->queries) {
        vk->CmdResetQueryPool(recording->commands, recording->queries, 0, (uint32_t)count + 1);
        vulkan_barrier(vk, recording->commands); // what came before is over
        vk->CmdWriteTimestamp(recording->commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, recording->queries, 0);
    }
    for (size_t i = 0; i < count; i++) { // what is timed runs alone
        const bool waits = i == 0 || commands[i].waits || recording->queries;
        HONE_TRY(add_command(vk, recording, &commands[i], waits, error));
    }
    vulkan_barrier(vk, recording->commands);
    return vulkan_check(vk, vk->EndCommandBuffer(recording->commands), "recording", error);
}

static hone_status make_queries(vulkan_driver *vk, hone_gpu_recording *recording, size_t count, hone_error *error) {
    const VkQueryPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                        .queryType = VK_QUERY_TYPE_TIMESTAMP,
                                        .queryCount = (uint32_t)count + 1};
    return vulkan_check(vk, vk->CreateQueryPool(vk->device, &info, NULL, &recording->queries), "timestamps", error);
}

hone_status vulkan_record(hone_gpu_driver *driver, const hone_gpu_command *commands, size_t count, bool timed,
                          hone_gpu_recording **out, hone_error *error) {
    vulkan_driver *const vk = (vulkan_driver *)driver;
    hone_gpu_recording *recording;
    HONE_TRY(HONE_NEW(&recording, "a recording", error));
    hone_status status = timed ? make_queries(vk, recording, count, error) : HONE_OK;
    if (status == HONE_OK) status = fill_recording(vk, recording, commands, count, error);
    if (status == HONE_OK) status = vulkan_complaint(vk, error);
    if (status != HONE_OK) {
        vulkan_recording_destroy(driver, recording);
        return status;
    }
    *out = recording;
    return HONE_OK;
}

void vulkan_recording_destroy(hone_gpu_driver *driver, hone_gpu_recording *recording) {
    vulkan_driver *const vk = (vulkan_driver *)driver;
    if (!vk->base.lost) {
        while (vulkan_wait_for(vk, vk->submitted, NULL) == HONE_PENDING) {
        }
    }
    if (recording->commands) vk->FreeCommandBuffers(vk->device, vk->pool, 1, &recording->commands);
    if (recording->queries) vk->DestroyQueryPool(vk->device, recording->queries, NULL);
    if (recording->pool) vk->DestroyDescriptorPool(vk->device, recording->pool, NULL);
    hone_free(recording);
}

hone_status vulkan_submit_recording(hone_gpu_driver *driver, hone_gpu_recording *recording, hone_error *error) {
    return vulkan_submit((vulkan_driver *)driver, recording->commands, error);
}

#define QUERIES_AT_ONCE 64

hone_status vulkan_timestamps(hone_gpu_driver *driver, hone_gpu_recording *recording, double *seconds,
                              hone_error *error) {
    vulkan_driver *const vk = (vulkan_driver *)driver;
    HONE_FAIL_IF(!recording->queries, error, UNSUPPORTED, "vulkan: what was recorded is not timed");
    for (uint32_t first = 0; first < recording->count; first += QUERIES_AT_ONCE) {
        uint64_t ticks[QUERIES_AT_ONCE + 1];
        const uint32_t n = recording->count - first < QUERIES_AT_ONCE ? recording->count - first : QUERIES_AT_ONCE;
        HONE_TRY(
            vulkan_check(vk,
                         vk->GetQueryPoolResults(vk->device, recording->queries, first, n + 1, sizeof(ticks), ticks,
                                                 sizeof(ticks[0]), VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT),
                         "timestamps", error));
        for (uint32_t i = 0; i < n; i++)
            seconds[first + i] = (double)((ticks[i + 1] - ticks[i]) & vk->tick_mask) * vk->tick;
    }
    return HONE_OK;
}
