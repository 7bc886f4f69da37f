// SPDX-License-Identifier: Apache-2.0
// Vulkan memory: buffers with an allocation each, and copies between host and GPU through a ring of staging slots.
#include <string.h>

#include "device/gpu/vulkan/internal.h"

static uint32_t find_type(const vulkan_driver *vk, uint32_t allowed, VkMemoryPropertyFlags flags) {
    for (uint32_t i = 0; i < vk->memory.memoryTypeCount; i++) {
        if (allowed >> i & 1 && (vk->memory.memoryTypes[i].propertyFlags & flags) == flags) return i;
    }
    return UINT32_MAX;
}

hone_status vulkan_allocate(vulkan_driver *vk, size_t bytes, VkBufferUsageFlags usage, VkMemoryPropertyFlags wanted,
                            VkMemoryPropertyFlags needed, VkBuffer *buffer, VkDeviceMemory *memory, hone_error *error) {
    const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = bytes, .usage = usage};
    HONE_TRY(vulkan_check(vk, vk->CreateBuffer(vk->device, &info, NULL, buffer), "a buffer", error));
    VkMemoryRequirements needs;
    vk->GetBufferMemoryRequirements(vk->device, *buffer, &needs);
    uint32_t type = find_type(vk, needs.memoryTypeBits, wanted);
    if (type == UINT32_MAX) type = find_type(vk, needs.memoryTypeBits, needed);
    HONE_FAIL_IF(type == UINT32_MAX, error, UNSUPPORTED, "vulkan: the GPU has no memory of the kind that is needed");
    const VkMemoryAllocateInfo allocate = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = needs.size, .memoryTypeIndex = type};
    HONE_TRY(vulkan_check(vk, vk->AllocateMemory(vk->device, &allocate, NULL, memory), "a buffer", error));
    return vulkan_check(vk, vk->BindBufferMemory(vk->device, *buffer, *memory, 0), "a buffer", error);
}

static void release(vulkan_driver *vk, VkBuffer buffer, VkDeviceMemory memory) {
    if (buffer) vk->DestroyBuffer(vk->device, buffer, NULL);
    if (memory) vk->FreeMemory(vk->device, memory, NULL);
}

// --- slots -----------------------------------------------------------------------------------------------------------
static hone_status make_slot(vulkan_driver *vk, size_t bytes, vulkan_slot *slot, hone_error *error) {
    const VkMemoryPropertyFlags needed = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    HONE_TRY(vulkan_allocate(vk, bytes, VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                             needed | VK_MEMORY_PROPERTY_HOST_CACHED_BIT, needed, &slot->buffer, &slot->memory, error));
    HONE_TRY(vulkan_check(vk, vk->MapMemory(vk->device, slot->memory, 0, VK_WHOLE_SIZE, 0, &slot->data),
                          "mapping memory", error));
    const VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                              .commandPool = vk->pool,
                                              .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                              .commandBufferCount = 1};
    return vulkan_check(vk, vk->AllocateCommandBuffers(vk->device, &info, &slot->commands), "commands", error);
}

hone_status vulkan_make_slots(vulkan_driver *vk, hone_error *error) {
    for (size_t i = 0; i < VULKAN_SLOTS; i++) HONE_TRY(make_slot(vk, VULKAN_SLOT_BYTES, &vk->slots[i], error));
    return HONE_OK;
}

void vulkan_free_slots(vulkan_driver *vk) {
    for (size_t i = 0; i < VULKAN_SLOTS; i++) release(vk, vk->slots[i].buffer, vk->slots[i].memory);
}

static hone_status begin_copy(vulkan_driver *vk, vulkan_slot *slot, hone_error *error) {
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                            .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    HONE_TRY(vulkan_check(vk, vk->BeginCommandBuffer(slot->commands, &begin), "recording a copy", error));
    vulkan_barrier(vk, slot->commands);
    return HONE_OK;
}

// The next slot, free, its commands begun behind a barrier.
static hone_status take_slot(vulkan_driver *vk, vulkan_slot **out, hone_error *error) {
    vulkan_slot *const slot = &vk->slots[vk->next_slot++ % VULKAN_SLOTS];
    hone_status status;
    do {
        status = vulkan_wait_for(vk, slot->done, error);
    } while (status == HONE_PENDING);
    HONE_TRY(status);
    HONE_TRY(begin_copy(vk, slot, error));
    *out = slot;
    return HONE_OK;
}

static hone_status send_slot(vulkan_driver *vk, vulkan_slot *slot, hone_error *error) {
    HONE_TRY(vulkan_check(vk, vk->EndCommandBuffer(slot->commands), "recording a copy", error));
    HONE_TRY(vulkan_submit(vk, slot->commands, error));
    slot->done = vk->submitted;
    return HONE_OK;
}

// --- buffers ---------------------------------------------------------------------------------------------------------
hone_status vulkan_buffer_create(hone_gpu_driver *driver, size_t bytes, const char *what, hone_gpu_buffer **out,
                                 hone_error *error) {
    vulkan_driver *const vk = (vulkan_driver *)driver;
    hone_gpu_buffer *buffer;
    vulkan_slot *slot;
    hone_status status;
    HONE_TRY(HONE_NEW(&buffer, what, error));
    const VkBufferUsageFlags usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT |
                                     VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    HONE_TRY_GOTO(vulkan_allocate(vk, bytes, usage, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0, &buffer->buffer,
                                  &buffer->memory, error),
                  failed);
    HONE_TRY_GOTO(take_slot(vk, &slot, error), failed);
    vk->CmdFillBuffer(slot->commands, buffer->buffer, 0, VK_WHOLE_SIZE, 0);
    HONE_TRY_GOTO(send_slot(vk, slot, error), failed);
    *out = buffer;
    return HONE_OK;
failed:
    if (status == HONE_OUT_OF_MEMORY)
        status = hone_error_set(error, status, "the GPU has no %zu bytes left for %s", bytes, what);
    vulkan_buffer_destroy(driver, buffer);
    return status;
}

void vulkan_buffer_destroy(hone_gpu_driver *driver, hone_gpu_buffer *buffer) {
    vulkan_driver *const vk = (vulkan_driver *)driver;
    if (!vk->base.lost) {
        while (vulkan_wait_for(vk, vk->submitted, NULL) == HONE_PENDING) {
        }
    }
    release(vk, buffer->buffer, buffer->memory);
    hone_free(buffer);
}

hone_status vulkan_upload(hone_gpu_driver *driver, hone_gpu_buffer *buffer, size_t offset, const void *data,
                          size_t bytes, hone_error *error) {
    vulkan_driver *const vk = (vulkan_driver *)driver;
    for (size_t at = 0; at < bytes; at += VULKAN_SLOT_BYTES) {
        const size_t n = bytes - at < VULKAN_SLOT_BYTES ? bytes - at : VULKAN_SLOT_BYTES;
        vulkan_slot *slot;
        HONE_TRY(take_slot(vk, &slot, error));
        memcpy(slot->data, (const char *)data + at, n);
        const VkBufferCopy region = {.dstOffset = offset + at, .size = n};
        vk->CmdCopyBuffer(slot->commands, slot->buffer, buffer->buffer, 1, &region);
        HONE_TRY(send_slot(vk, slot, error));
    }
    return HONE_OK;
}

// One slot at a time; what is under way is kept in the driver, so that a caller may come back for it.
hone_status vulkan_download(hone_gpu_driver *driver, hone_gpu_buffer *buffer, size_t offset, void *data, size_t bytes,
                            hone_error *error) {
    vulkan_driver *const vk = (vulkan_driver *)driver;
    while (vk->read_bytes < bytes) {
        const size_t at = vk->read_bytes;
        const size_t n = bytes - at < VULKAN_SLOT_BYTES ? bytes - at : VULKAN_SLOT_BYTES;
        vulkan_slot *slot;
        if (!vk->reading) {
            HONE_TRY(take_slot(vk, &slot, error));
            const VkBufferCopy region = {.srcOffset = offset + at, .size = n};
            vk->CmdCopyBuffer(slot->commands, buffer->buffer, slot->buffer, 1, &region);
            HONE_TRY(send_slot(vk, slot, error));
            vk->reading = true;
        }
        slot = &vk->slots[(vk->next_slot - 1) % VULKAN_SLOTS];
        const hone_status status = vulkan_wait_for(vk, slot->done, error);
        if (status == HONE_PENDING) return status;
        vk->reading = false;
        if (status != HONE_OK) {
            vk->read_bytes = 0;
            return status;
        }
        memcpy((char *)data + at, slot->data, n);
        vk->read_bytes += n;
    }
    vk->read_bytes = 0;
    return HONE_OK;
}

// --- fetching: a slot of its own each -------------------------------------------------------------------------------
struct hone_gpu_fetch {
    vulkan_slot slot;
    size_t bytes;
};

hone_status vulkan_fetch_create(hone_gpu_driver *driver, size_t bytes, hone_gpu_fetch **out, hone_error *error) {
    hone_gpu_fetch *fetch;
    HONE_TRY(HONE_NEW(&fetch, "reading back", error));
    fetch->bytes = bytes;
    const hone_status status = make_slot((vulkan_driver *)driver, bytes, &fetch->slot, error);
    if (status != HONE_OK) {
        vulkan_fetch_destroy(driver, fetch);
        return status;
    }
    *out = fetch;
    return HONE_OK;
}

void vulkan_fetch_destroy(hone_gpu_driver *driver, hone_gpu_fetch *fetch) {
    vulkan_driver *const vk = (vulkan_driver *)driver;
    if (!vk->base.lost) {
        while (vulkan_wait_for(vk, fetch->slot.done, NULL) == HONE_PENDING) {
        }
    }
    if (fetch->slot.commands) vk->FreeCommandBuffers(vk->device, vk->pool, 1, &fetch->slot.commands);
    release(vk, fetch->slot.buffer, fetch->slot.memory);
    hone_free(fetch);
}

hone_status vulkan_fetch_begin(hone_gpu_driver *driver, hone_gpu_fetch *fetch, const hone_gpu_range *from,
                               hone_error *error) {
    vulkan_driver *const vk = (vulkan_driver *)driver;
    const VkBufferCopy region = {.srcOffset = from->offset, .size = fetch->bytes};
    HONE_TRY(begin_copy(vk, &fetch->slot, error));
    vk->CmdCopyBuffer(fetch->slot.commands, from->buffer->buffer, fetch->slot.buffer, 1, &region);
    vulkan_barrier(vk, fetch->slot.commands);
    return send_slot(vk, &fetch->slot, error);
}

hone_status vulkan_fetch_end(hone_gpu_driver *driver, hone_gpu_fetch *fetch, void *data, hone_error *error) {
    HONE_TRY(vulkan_wait_for((vulkan_driver *)driver, fetch->slot.done, error));
    memcpy(data, fetch->slot.data, fetch->bytes);
    return HONE_OK;
}
