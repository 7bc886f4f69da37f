// SPDX-License-Identifier: Apache-2.0
// From a plan to recordings: variants chosen, tensors bound, parameters laid out, pipelines made.
#include <string.h>

#include "device/gpu/internal.h"

static hone_tensor plan_tensor(const void *context, hone_value value) {
    const gpu_program *const program = context;
    hone_plan_value *const own = &program->base.plan->values[value.id];
    // No bytes: the address names the value to bind_range.
    return (hone_tensor){.type = own->type, .data = own};
}

static hone_status bind_range(gpu_program *program, const hone_kernel_binding *binding, hone_gpu_range *out,
                              hone_error *error) {
    const hone_gpu_limits *const limits = &((gpu_device *)program->base.device)->driver->limits;
    if (binding->place != HONE_KERNEL_TENSOR) {
        const bool scratch = binding->place == HONE_KERNEL_SCRATCH; // its buffer is not there yet
        program->uses_flags |= binding->place == HONE_KERNEL_FLAGS;
        *out = (hone_gpu_range){scratch ? NULL : program->flags, binding->offset, binding->bytes};
        return HONE_OK;
    }
    const hone_plan *const plan = program->base.plan;
    const hone_plan_value *const root = &plan->values[((const hone_plan_value *)binding->token)->root];
    HONE_FAIL_IF(binding->bytes > limits->binding_bytes, error, UNSUPPORTED,
                 "a tensor of %zu bytes is larger than the %zu that the GPU binds at a time", binding->bytes,
                 limits->binding_bytes);
    if (program->measured) return HONE_OK;
    return gpu_memory_range(root->storage == HONE_STORAGE_TEMPORARY ? program->base.arena : root->buffer,
                            root->offset + binding->offset, binding->bytes, out, error);
}

// Whether a step's kernels may write to the tensor: an output, or an argument that the schema marks so.
static bool writes(const gpu_program *program, uint32_t index, const void *token) {
    const hone_op_call *const call = &program->steps[index].call;
    const hone_node *const node = &program->base.plan->steps[index].node;
    for (size_t i = 0; i < call->output_count; i++) {
        if (call->outputs[i].data == token) return true;
    }
    for (size_t i = 0; i < call->operand_count; i++) {
        if (!node->schema->arguments[i].mutated) continue;
        const hone_operand *const operand = &call->operands[i];
        for (size_t t = 0; operand->tensors && t < operand->count; t++) {
            if (operand->tensors[t].data == token) return true;
        }
    }
    return false;
}

static hone_status add_dispatch(gpu_program *program, const hone_kernel_dispatch *made, uint32_t step,
                                hone_error *error) {
    const hone_gpu_limits *const limits = &((gpu_device *)program->base.device)->driver->limits;
    HONE_TRY(
        HONE_GROW(&program->dispatches, &program->dispatch_capacity, program->dispatch_count + 1, "dispatches", error));
    HONE_TRY(HONE_GROW(&program->words, &program->word_capacity, program->dispatch_count + 1, "parameters", error));
    gpu_dispatch *const dispatch = &program->dispatches[program->dispatch_count];
    const uint64_t row = made->groups < limits->groups ? made->groups : limits->groups;
    *dispatch = (gpu_dispatch){.entry = made->entry, .step = step};
    dispatch->command.binding_count = made->binding_count;
    dispatch->command.groups[0] = (uint32_t)row;
    dispatch->command.groups[1] = (uint32_t)((made->groups + row - 1) / row);
    for (uint32_t i = 0; i < made->binding_count; i++) {
        const hone_kernel_binding *const binding = &made->bindings[i];
        HONE_TRY(bind_range(program, binding, &dispatch->command.bindings[i], error));
        const bool tensor = binding->place == HONE_KERNEL_TENSOR, scratch = binding->place == HONE_KERNEL_SCRATCH;
        dispatch->used |= (uint32_t)(tensor || scratch) << i; // error flags are only ever added to
        dispatch->written |= (uint32_t)(scratch || (tensor && writes(program, step, binding->token))) << i;
        const hone_gpu_range *const own = &dispatch->command.bindings[i];
        for (uint32_t j = 0; j < i && !limits->overlap && !program->measured; j++) {
            const hone_gpu_range *const other = &dispatch->command.bindings[j];
            HONE_FAIL_IF(own->buffer == other->buffer && own->offset < other->offset + other->bytes &&
                             other->offset < own->offset + own->bytes,
                         error, UNSUPPORTED, "%s: this GPU may not bind the same bytes twice", made->entry);
        }
    }
    uint32_t *const words = program->words[program->dispatch_count++];
    memcpy(words, made->words, sizeof(made->words));
    words[0] = (uint32_t)row;
    words[1] = (uint32_t)made->groups;
    words[HONE_KERNEL_INFINITY] = 0x7f800000;
    words[HONE_KERNEL_NAN] = 0x7fc00000;
    return HONE_OK;
}

static bool takes(const gpu_device *gpu, const hone_kernel_variant *row, const hone_op_call *call) {
    return (row->needs & ~gpu->driver->limits.features) == 0 && (!row->takes || row->takes(call));
}

// NULL: none; *off says whether that is because those that take the call are switched off.
static const hone_kernel_variant *choose_variant(gpu_device *gpu, const hone_op_call *call, bool *off) {
    *off = false;
    if (gpu->forced && gpu->forced_op == call->op) {
        gpu->forced_refused = !takes(gpu, gpu->forced, call);
        return gpu->forced_refused ? NULL : gpu->forced;
    }
    for (const hone_kernel_variant *row = gpu_variants(gpu, call->op); row && row->name; row++) {
        if (!takes(gpu, row, call)) continue;
        if (!gpu_is_off(gpu, call->op, row)) return row;
        *off = true;
    }
    return NULL;
}

static hone_status count_index(gpu_device *gpu, const hone_op *op, uint32_t *out, hone_error *error) {
    for (*out = 0; *out < gpu->count_count; ++*out) {
        if (gpu->counts[*out].op == op) return HONE_OK;
    }
    HONE_TRY(HONE_GROW(&gpu->counts, &gpu->count_capacity, gpu->count_count + 1, "counts", error));
    gpu->counts[gpu->count_count++] = (gpu_count){.op = op};
    return HONE_OK;
}

static hone_status resolve(gpu_program *program, uint32_t index, hone_error *error) {
    const hone_plan_step *const planned = &program->base.plan->steps[index];
    const hone_node *const node = &planned->node;
    gpu_step *const step = &program->steps[index];
    hone_operand *operands;
    hone_tensor *tensors;
    hone_tensor *outputs;
    HONE_TRY(HONE_ARENA_ARRAY(&program->memory, &operands, node->schema->argument_count, error));
    HONE_TRY(HONE_ARENA_ARRAY(&program->memory, &tensors, node->input_count, error));
    HONE_TRY(HONE_ARENA_ARRAY(&program->memory, &outputs, node->output_count, error));
    hone_node_operands(node, &(hone_operand_sources){plan_tensor, program}, operands, tensors);
    for (size_t i = 0; i < node->output_count; i++) outputs[i] = plan_tensor(program, node->outputs[i]);
    step->alias = planned->alias;
    for (size_t i = 0; i < node->schema->argument_count; i++)
        step->live |= node->arguments[i].kind == HONE_ARGUMENT_LIVE;
    step->call = (hone_op_call){.op = node->schema->op,
                                .operands = operands,
                                .operand_count = node->schema->argument_count,
                                .outputs = outputs,
                                .output_count = node->output_count};
    return HONE_OK;
}

static size_t place_of(const void *context, const void *token) {
    const gpu_program *const program = context;
    return program->base.plan->values[((const hone_plan_value *)token)->root].offset;
}

static hone_kernel_room room_of(const gpu_program *program) {
    const gpu_device *const gpu = (const gpu_device *)program->base.device;
    return (hone_kernel_room){.binding_bytes = gpu->driver->limits.binding_bytes,
                              .piece_bytes = gpu->base.piece_bytes,
                              .place = place_of,
                              .context = program};
}

// The dispatches of one step, without their pipelines.
static hone_status prepare_step(gpu_program *program, uint32_t index, hone_error *error) {
    gpu_device *const gpu = (gpu_device *)program->base.device;
    gpu_step *const step = &program->steps[index];
    HONE_TRY(resolve(program, index, error));
    step->first = program->dispatch_count;
    if (step->alias) return HONE_OK;
    HONE_TRY(count_index(gpu, step->call.op, &step->count_index, error));
    bool off;
    step->variant = choose_variant(gpu, &step->call, &off);
    HONE_FAIL_IF(!step->variant && off, error, UNSUPPORTED,
                 "%.*s is not available on device %s: the self-test has found its kernels wrong here (hone devices)",
                 (int)hone_op_name_length(step->call.op), step->call.op->schema, gpu->base.name);
    HONE_FAIL_IF(!step->variant, error, UNSUPPORTED, "%.*s: this call has no kernel for device %s",
                 (int)hone_op_name_length(step->call.op), step->call.op->schema, gpu->base.name);
    const hone_kernel_room room = room_of(program);
    hone_kernel_list list = {.room = &room};
    step->variant->dispatch(&step->call, &list);
    hone_status status = list.failure.status;
    if (status != HONE_OK && error) *error = list.failure;
    if (list.scratch_bytes > program->scratch_bytes) program->scratch_bytes = list.scratch_bytes;
    for (size_t i = 0; i < list.count && status == HONE_OK; i++) {
        if (list.dispatches[i].groups) status = add_dispatch(program, &list.dispatches[i], index, error);
    }
    hone_kernel_clear(&list);
    if (status != HONE_OK)
        hone_error_prefix(error, "%.*s", (int)hone_op_name_length(step->call.op), step->call.op->schema);
    step->count = program->dispatch_count - step->first;
    return status;
}

hone_status gpu_step_words(gpu_program *program, gpu_step *step, size_t *changed_first, size_t *changed_end,
                           hone_error *error) {
    const hone_kernel_room room = room_of(program);
    hone_kernel_list list = {.room = &room};
    step->variant->dispatch(&step->call, &list);
    hone_status status = list.failure.status;
    if (status != HONE_OK && error) *error = list.failure;
    size_t at = step->first;
    for (size_t i = 0; i < list.count && status == HONE_OK; i++) {
        if (!list.dispatches[i].groups) continue;
        uint32_t *const words = program->words[at];
        uint32_t *const own = words + HONE_KERNEL_OWN_WORD;
        const uint32_t *const now = list.dispatches[i].words + HONE_KERNEL_OWN_WORD;
        const size_t bytes = (HONE_KERNEL_ZERO - HONE_KERNEL_OWN_WORD) * sizeof(*words);
        if (memcmp(own, now, bytes) != 0) {
            memcpy(own, now, bytes);
            if (at < *changed_first) *changed_first = at;
            if (at + 1 > *changed_end) *changed_end = at + 1;
        }
        at++;
    }
    hone_kernel_clear(&list);
    return status;
}

// --- device objects --------------------------------------------------------------------------------------------------
#define SCRATCH_TURNS 8
#define SCRATCH_BYTES ((size_t)32 << 20) // for all turns, if one takes no more
// The flags, and behind them the words that nobody reads.
#define FLAGS_BYTES ((size_t)HONE_BUFFER_ALIGNMENT * (1 + HONE_KERNEL_BINDINGS))

static size_t round_up(size_t bytes) {
    return (bytes + HONE_BUFFER_ALIGNMENT - 1) / HONE_BUFFER_ALIGNMENT * HONE_BUFFER_ALIGNMENT;
}

static size_t buffer_bytes(size_t bytes) {
    return bytes ? round_up(bytes) : HONE_BUFFER_ALIGNMENT;
}

// Several steps in turn have working memory of their own, so that they need not wait for each other.
static size_t scratch_turns(const gpu_program *program) {
    const size_t stride = round_up(program->scratch_bytes);
    const size_t turns = stride ? SCRATCH_BYTES / stride : 1;
    return turns < 1 ? 1 : turns > SCRATCH_TURNS ? SCRATCH_TURNS : turns;
}

// All of the program's buffers, as make_buffers will find the counts.
static size_t working_bytes(const gpu_program *program) {
    return buffer_bytes(program->dispatch_count * sizeof(*program->words)) +
           buffer_bytes(round_up(program->scratch_bytes) * scratch_turns(program)) + FLAGS_BYTES;
}

static hone_status make_buffer(hone_gpu_driver *driver, size_t bytes, const char *what, hone_gpu_buffer **out,
                               hone_error *error) {
    const size_t rounded = buffer_bytes(bytes);
    HONE_FAIL_IF(rounded > driver->limits.buffer_bytes, error, UNSUPPORTED,
                 "%s: %zu bytes are more than a buffer of this GPU holds", what, rounded);
    return driver->vtable->buffer_create(driver, rounded, what, out, error);
}

static hone_status poison_scratch(gpu_program *program, hone_error *error) {
    gpu_device *const gpu = (gpu_device *)program->base.device;
    uint32_t pattern[1024];
    memset(pattern, 0xFF, sizeof(pattern));
    for (size_t at = 0; at < program->scratch_bytes && gpu->poison; at += sizeof(pattern)) {
        const size_t left = (program->scratch_bytes - at + 3) / 4 * 4;
        HONE_TRY(gpu->driver->vtable->upload(gpu->driver, program->scratch, at, pattern,
                                             left < sizeof(pattern) ? left : sizeof(pattern), error));
    }
    return HONE_OK;
}

// Scratch and parameters are known only when all steps are there: they are put into the bindings then.
static hone_status make_buffers(gpu_program *program, hone_error *error) {
    hone_gpu_driver *const driver = ((gpu_device *)program->base.device)->driver;
    const size_t block = sizeof(*program->words);
    program->base.working = working_bytes(program);
    HONE_TRY(make_buffer(driver, program->dispatch_count * block, "parameters", &program->parameters, error));
    const size_t stride = round_up(program->scratch_bytes);
    const size_t turns = scratch_turns(program);
    program->scratch_bytes = stride * turns;
    HONE_TRY(make_buffer(driver, program->scratch_bytes, "working memory of operators", &program->scratch, error));
    HONE_TRY(poison_scratch(program, error));
    for (size_t i = 0; i < program->dispatch_count; i++) {
        hone_gpu_command *const command = &program->dispatches[i].command;
        command->parameters = (hone_gpu_range){program->parameters, i * block, block};
        for (uint32_t b = 0; b < command->binding_count; b++) {
            if (command->bindings[b].buffer) continue;
            command->bindings[b].buffer = program->scratch;
            command->bindings[b].offset += program->dispatches[i].step % turns * stride;
        }
    }
    gpu_set_order(program);
    if (!program->dispatch_count) return HONE_OK;
    return driver->vtable->upload(driver, program->parameters, 0, program->words, program->dispatch_count * block,
                                  error);
}

static hone_status prepare(gpu_program *program, hone_error *error) {
    hone_gpu_driver *const driver = ((gpu_device *)program->base.device)->driver;
    HONE_TRY(make_buffer(driver, FLAGS_BYTES, "error flags", &program->flags, error));
    HONE_TRY(HONE_NEW_ARRAY(&program->steps, program->base.plan->step_count, "a program", error));
    for (uint32_t s = 0; s < program->base.plan->step_count; s++) HONE_TRY(prepare_step(program, s, error));
    HONE_TRY(make_buffers(program, error));
    program->prepared = true;
    return HONE_OK;
}

// All that the program needs at the same time, where that is possible.
static hone_status make_many(gpu_program *program, hone_error *error) {
    gpu_pipeline *wanted;
    HONE_TRY(HONE_NEW_ARRAY(&wanted, program->dispatch_count, "pipelines", error));
    for (size_t i = 0; i < program->dispatch_count; i++)
        wanted[i] = (gpu_pipeline){.entry = program->dispatches[i].entry,
                                   .binding_count = program->dispatches[i].command.binding_count};
    gpu_pipelines_make((gpu_device *)program->base.device, wanted, program->dispatch_count);
    hone_free(wanted);
    return HONE_OK;
}

static hone_status make_pipelines(gpu_program *program, hone_error *error) {
    gpu_device *const gpu = (gpu_device *)program->base.device;
    if (program->pipelines_made == 0) HONE_TRY(make_many(program, error));
    for (; program->pipelines_made < program->dispatch_count; program->pipelines_made++) {
        gpu_dispatch *const dispatch = &program->dispatches[program->pipelines_made];
        HONE_TRY(gpu_pipeline_get(gpu, dispatch->entry, dispatch->command.binding_count, &dispatch->command.pipeline,
                                  error));
    }
    return gpu_canary_make(gpu, error);
}

static hone_status proceed(gpu_program *program, hone_error *error) {
    if (!program->prepared) HONE_TRY(prepare(program, error));
    HONE_TRY(make_pipelines(program, error));
    return gpu_record(program, error);
}

hone_status gpu_program_create(hone_device *device, const hone_plan *plan, hone_buffer *arena, hone_program **out,
                               hone_error *error) {
    HONE_TRY(gpu_alive((const gpu_device *)device, error));
    gpu_program *program = (gpu_program *)*out;
    if (!program) {
        HONE_TRY(HONE_NEW(&program, "a program", error));
        program->base = (hone_program){.device = device, .plan = plan, .arena = arena};
        program->memory.block_bytes = 64 * 1024;
    }
    const hone_status status = proceed(program, error);
    if (status == HONE_OK || status == HONE_PENDING || *out) {
        *out = &program->base; // after a failure in the middle the caller still owns it
        return status;
    }
    gpu_program_destroy(&program->base);
    return status;
}

void gpu_program_destroy(hone_program *base) {
    gpu_program *const program = (gpu_program *)base;
    hone_gpu_driver *const driver = ((gpu_device *)base->device)->driver;
    gpu_free_recordings(program);
    hone_gpu_buffer *const buffers[] = {program->parameters, program->scratch, program->flags};
    for (size_t i = 0; i < sizeof(buffers) / sizeof(buffers[0]); i++) {
        if (buffers[i]) driver->vtable->buffer_destroy(driver, buffers[i]);
    }
    hone_arena_clear(&program->memory);
    hone_free(program->steps);
    hone_free(program->dispatches);
    hone_free(program->words);
    hone_free(program->seconds);
    hone_free(program->runs);
    hone_free(program);
}

hone_status gpu_program_bytes(hone_device *device, const hone_plan *plan, size_t *out, hone_error *error) {
    gpu_program program = {.base = {.device = device, .plan = plan}, .measured = true};
    program.memory.block_bytes = (size_t)64 * 1024;
    hone_status status = HONE_NEW_ARRAY(&program.steps, plan->step_count, "a program", error);
    for (uint32_t s = 0; s < plan->step_count && status == HONE_OK; s++) status = prepare_step(&program, s, error);
    *out = working_bytes(&program);
    hone_arena_clear(&program.memory);
    hone_free(program.steps);
    hone_free(program.dispatches);
    hone_free(program.words);
    return status;
}
