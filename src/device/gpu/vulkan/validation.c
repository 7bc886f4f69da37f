// SPDX-License-Identifier: Apache-2.0
// HONE_VULKAN_VALIDATION=1 (for tests): Khronos's validation layer checks each call. Its warnings and errors become the error
// of the next call that can return one; what it says of the end itself goes to stderr, for nobody is left to return it to.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/gpu/vulkan/internal.h"

bool vulkan_wants_validation(void) {
    const char *const wanted = getenv("HONE_VULKAN_VALIDATION");
    return wanted && strcmp(wanted, "1") == 0;
}

static VkBool32 VKAPI_PTR on_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                     VkDebugUtilsMessageTypeFlagsEXT types,
                                     const VkDebugUtilsMessengerCallbackDataEXT *data, void *driver) {
    (void)severity;
    (void)types;
    vulkan_driver *const vk = driver;
    if (vk->complaints++ == 0) snprintf(vk->complaint, sizeof(vk->complaint), "%.590s", data->pMessage);
    return VK_FALSE;
}

void vulkan_validation_describe(vulkan_driver *vk, VkDebugUtilsMessengerCreateInfoEXT *out) {
    *out = (VkDebugUtilsMessengerCreateInfoEXT){.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
                                                .messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT |
                                                                   VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
                                                .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT |
                                                               VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT,
                                                .pfnUserCallback = on_message,
                                                .pUserData = vk};
}

void vulkan_validation_begin(vulkan_driver *vk) {
    const PFN_vkCreateDebugUtilsMessengerEXT create =
        (PFN_vkCreateDebugUtilsMessengerEXT)vk->GetInstanceProcAddr(vk->instance, "vkCreateDebugUtilsMessengerEXT");
    VkDebugUtilsMessengerCreateInfoEXT info;
    vulkan_validation_describe(vk, &info);
    if (!create || create(vk->instance, &info, NULL, &vk->messenger) != VK_SUCCESS) {
        vk->complaints++;
        snprintf(vk->complaint, sizeof(vk->complaint), "the validation layer takes no messenger");
    }
}

void vulkan_validation_end(vulkan_driver *vk) {
    const PFN_vkDestroyDebugUtilsMessengerEXT destroy =
        (PFN_vkDestroyDebugUtilsMessengerEXT)vk->GetInstanceProcAddr(vk->instance, "vkDestroyDebugUtilsMessengerEXT");
    if (vk->messenger && destroy) destroy(vk->instance, vk->messenger, NULL);
    vk->DestroyInstance(vk->instance, NULL); // which the layer watches too, through what the instance was made with
    vk->instance = VK_NULL_HANDLE;
    if (vk->complaints) fprintf(stderr, "vulkan: %u complaints, the first: %s\n", vk->complaints, vk->complaint);
}

hone_status vulkan_complaint(vulkan_driver *vk, hone_error *error) {
    if (!vk->complaints) return HONE_OK;
    const uint32_t count = vk->complaints;
    vk->complaints = 0;
    HONE_FAIL(error, MISMATCH, "vulkan: the validation layer complains %u times, first: %s", count, vk->complaint);
}

// The layer's SPIR-V checker may be older than the compiler and then refuse the very name of the language that a module says
// it was written in (OpSource), which has no other meaning. So that it checks the rest, it gets a copy without.
#define SPIRV_HEADER    5 // words
#define SPIRV_OP_SOURCE 3

hone_status vulkan_without_source(const uint32_t *code, size_t bytes, uint32_t **out, size_t *out_bytes,
                                  hone_error *error) {
    const size_t words = bytes / sizeof(*code);
    size_t kept = 0;
    HONE_TRY(HONE_NEW_ARRAY(out, words, "a kernel", error));
    for (size_t at = 0; at < words;) {
        const bool header = at < SPIRV_HEADER;
        const size_t length = header ? SPIRV_HEADER : code[at] >> 16;
        if (length == 0 || length > words - at) break; // not SPIR-V: the layer will say so
        if (header || (code[at] & 0xffff) != SPIRV_OP_SOURCE) {
            memcpy(*out + kept, code + at, length * sizeof(*code));
            kept += length;
        }
        at += length;
    }
    *out_bytes = kept * sizeof(*code);
    return HONE_OK;
}
