// SPDX-License-Identifier: Apache-2.0
// Writes cases of the operators' tables as C, for programs that have no use for the references and the many other cases.
// usage: make_cases selftest|bench > FILE.c
//   selftest: for each kernel of each operator a few small cases that it takes
//   bench:    the cases that are made for timing
// Run while hone is built.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/internal.h"
#include "graph/schema.h"
#include "opcheck/opcheck.h"
#include "ops/kernel.h"

#define MOST_CASES  4096
#define SMALL_BYTES ((size_t)192 << 10) // of all tensors of a case: more takes time where the GPU is software

typedef struct row {
    const hone_op_case *from;
    hone_case call;
    size_t bytes;
    uint64_t taken; // bit i: by kernel i of the operator
    bool chosen, first;
} row;

static row rows[MOST_CASES];
static size_t row_count;
static hone_case_kernel entries[MOST_CASES];
static size_t entry_count;

static void fail(const char *what, const hone_error *error) {
    fprintf(stderr, "make_cases: %s: %s\n", what, error->message);
    exit(1);
}

// --- which kernels take a case ---------------------------------------------------------------------------------------
static hone_tensor shape_only(const void *context, hone_value value) {
    return (hone_tensor){.type = *hone_graph_type(context, value)};
}

typedef void visit_call(row *now, const hone_op_call *call);

// The row's call as an operator's functions see it, without bytes.
static void resolve(row *now, visit_call *visit) {
    hone_error error = {0};
    hone_graph *graph;
    hone_value values[HONE_CASE_INPUTS];
    hone_operand operands[HONE_SCHEMA_ARGUMENTS] = {0};
    hone_tensor tensors[HONE_CASE_INPUTS + HONE_CASE_OUTPUTS];
    hone_tensor outputs[HONE_CASE_OUTPUTS];
    const hone_case *const call = &now->call;
    if (hone_graph_create(&graph, &error) != HONE_OK || hone_case_emit(graph, call, NULL, values, &error) != HONE_OK)
        fail(call->op, &error);
    const hone_node *const node = hone_graph_node(graph, hone_graph_node_count(graph) - 1);
    hone_node_operands(node, &(hone_operand_sources){shape_only, graph}, operands, tensors);
    const size_t output_count = hone_node_output_count(node);
    for (size_t i = 0; i < output_count; i++) outputs[i] = shape_only(graph, hone_node_output(node, i));
    const hone_op_call resolved = {.op = hone_op_find(call->op),
                                   .operands = operands,
                                   .operand_count = node->schema->argument_count,
                                   .outputs = outputs,
                                   .output_count = output_count};
    visit(now, &resolved);
    hone_graph_destroy(graph);
}

static void note_kernels(row *now, const hone_op_call *call) {
    for (size_t i = 0; call->op->variants && call->op->variants[i].name; i++) {
        if (!call->op->variants[i].takes || call->op->variants[i].takes(call)) now->taken |= (uint64_t)1 << i;
    }
}

static void note_entry(const char *entry, uint32_t binding_count, uint32_t needs) {
    for (size_t i = 0; i < entry_count; i++) {
        if (strcmp(entries[i].entry, entry) == 0 && entries[i].binding_count == binding_count) return;
    }
    if (entry_count < MOST_CASES) entries[entry_count++] = (hone_case_kernel){entry, binding_count, needs};
}

static void note_entries(row *now, const hone_op_call *call) {
    for (size_t i = 0; call->op->variants[i].name; i++) {
        hone_kernel_list list = {0};
        if (!(now->taken >> i & 1)) continue;
        call->op->variants[i].dispatch(call, &list);
        if (list.failure.status != HONE_OK) fail(now->call.op, &list.failure);
        for (size_t d = 0; d < list.count; d++)
            note_entry(list.dispatches[d].entry, list.dispatches[d].binding_count, call->op->variants[i].needs);
        hone_kernel_clear(&list);
    }
}

static void add_row(const hone_op_case *from) {
    hone_error error = {0};
    hone_tensor_type types[HONE_CASE_OUTPUTS];
    size_t outputs = 0;
    row *const out = &rows[row_count];
    *out = (row){.from = from};
    out->call = (hone_case){.op = from->op,
                            .name = from->name,
                            .inputs = from->inputs,
                            .input_count = from->input_count,
                            .arguments = from->arguments,
                            .argument_count = from->argument_count,
                            .tolerance = from->tolerance,
                            .flop = from->bench_flop};
    if (hone_case_output_types(&out->call, types, &outputs, &error) != HONE_OK) fail(from->op, &error);
    for (size_t i = 0; i < from->input_count; i++) out->bytes += hone_type_bytes(&from->inputs[i].type);
    for (size_t i = 0; i < outputs; i++) out->bytes += hone_type_bytes(&types[i]);
    row_count++;
}

static void read_tables(bool bench) {
    for (size_t table = 0; hone_case_tables[table]; table++) {
        for (const hone_op_case *from = hone_case_tables[table]; from->op; from++) {
            const bool timed = from->bench_only || from->bench_flop;
            if (bench ? timed : !from->bench_only && row_count < MOST_CASES) add_row(from);
        }
    }
}

// --- which are chosen ------------------------------------------------------------------------------------------------

// Of the rows that the kernel takes: the largest that is small (edges of tiles lie in it), or else the smallest; then the
// first of the table, and one from its middle.
static void choose_for(const hone_op *op, size_t kernel) {
    row *taken[MOST_CASES];
    size_t count = 0;
    row *best = NULL;
    for (size_t i = 0; i < row_count; i++) {
        row *const now = &rows[i];
        if (hone_op_find(now->call.op) != op || !(now->taken >> kernel & 1)) continue;
        taken[count++] = now;
        const bool small = now->bytes <= SMALL_BYTES;
        const bool better =
            !best || (best->bytes <= SMALL_BYTES ? small && now->bytes > best->bytes : now->bytes < best->bytes);
        if (better) best = now;
    }
    if (!best) {
        fprintf(stderr, "make_cases: no case is for kernel %s of %.*s\n", op->variants[kernel].name,
                (int)hone_op_name_length(op), op->schema);
        return;
    }
    best->chosen = best->first = true;
    if (taken[0]->bytes <= SMALL_BYTES) taken[0]->chosen = true;
    if (taken[count / 2]->bytes <= SMALL_BYTES) taken[count / 2]->chosen = true;
}

static void choose(void) {
    for (size_t i = 0; i < row_count; i++) resolve(&rows[i], note_kernels);
    for (size_t o = 0; o < hone_op_count(); o++) {
        const hone_op *const op = hone_op_at(o);
        for (size_t kernel = 0; op->variants && op->variants[kernel].name; kernel++) choose_for(op, kernel);
    }
}

// --- as C ------------------------------------------------------------------------------------------------------------
static void print_text(const char *text) {
    putchar('"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            printf("\\%c", *text);
        else
            putchar(*text);
    }
    putchar('"');
}

static void print_number(double number) {
    if (isnan(number))
        printf("NAN");
    else if (isinf(number))
        printf(number < 0 ? "-INFINITY" : "INFINITY");
    else
        printf("%a", number);
}

static void print_inputs(size_t id, const hone_case *call) {
    for (size_t i = 0; i < call->input_count; i++) {
        const hone_case_input *const input = &call->inputs[i];
        if (!input->value_count) continue;
        printf("static const double values%zu_%zu[] = {", id, i);
        for (size_t j = 0; j < input->value_count; j++) {
            print_number(input->values[j]);
            printf(", ");
        }
        printf("};\n");
    }
    if (call->input_count) printf("static const hone_case_input inputs%zu[] = {\n", id);
    for (size_t i = 0; i < call->input_count; i++) {
        const hone_case_input *const input = &call->inputs[i];
        printf("    {.type = {%d, %d, {", (int)input->type.dtype, input->type.rank);
        for (int d = 0; d < input->type.rank; d++) printf("%lld, ", (long long)input->type.dims[d]);
        printf("0}}, .fill = %d, .low = ", (int)input->fill);
        print_number(input->low);
        printf(", .high = ");
        print_number(input->high);
        if (input->value_count) printf(", .values = values%zu_%zu, .value_count = %zu", id, i, input->value_count);
        printf("},\n");
    }
    if (call->input_count) printf("};\n");
}

// Lists that arguments point to.
static void print_lists(size_t id, size_t i, const hone_argument *argument) {
    if (argument->kind == HONE_ARGUMENT_INTEGERS && argument->count) {
        printf("static const int64_t list%zu_%zu[] = {", id, i);
        for (size_t j = 0; j < argument->count; j++) printf("%lld, ", (long long)argument->integers[j]);
        printf("};\n");
    }
    if (argument->kind == HONE_ARGUMENT_TENSORS && argument->count) {
        printf("static const hone_value list%zu_%zu[] = {", id, i);
        for (size_t j = 0; j < argument->count; j++) printf("{%u}, ", argument->values[j].id);
        printf("};\n");
    }
}

static void print_arguments(size_t id, const hone_case *call) {
    for (size_t i = 0; i < call->argument_count; i++) print_lists(id, i, &call->arguments[i]);
    if (call->argument_count) printf("static const hone_argument arguments%zu[] = {\n", id);
    for (size_t i = 0; i < call->argument_count; i++) {
        const hone_argument *const argument = &call->arguments[i];
        printf("    {.kind = %d, .value = {%u}, .count = %zu, .integer = %lld, .real = ", (int)argument->kind,
               argument->value.id, argument->count, (long long)argument->integer);
        print_number(argument->real);
        if (argument->kind == HONE_ARGUMENT_INTEGERS && argument->count) printf(", .integers = list%zu_%zu", id, i);
        if (argument->kind == HONE_ARGUMENT_TENSORS && argument->count) printf(", .values = list%zu_%zu", id, i);
        if (argument->kind == HONE_ARGUMENT_STRING) {
            printf(", .string = ");
            print_text(argument->string);
        }
        printf("},\n");
    }
    if (call->argument_count) printf("};\n");
}

static void print_case(size_t id, const row *now) {
    const hone_case *const call = &now->call;
    printf("    {");
    print_text(call->op);
    printf(", ");
    print_text(call->name);
    if (call->input_count)
        printf(", inputs%zu, %zu, ", id, call->input_count);
    else
        printf(", NULL, 0, ");
    if (call->argument_count)
        printf("arguments%zu, %zu, ", id, call->argument_count);
    else
        printf("NULL, 0, ");
    printf("%zu, %a, %s, %lld},\n", call->list_outputs, call->tolerance, now->first ? "true" : "false",
           (long long)call->flop);
}

static void print_kernels(void) {
    for (size_t i = 0; i < row_count; i++) {
        if (rows[i].first) resolve(&rows[i], note_entries);
    }
    printf("const hone_case_kernel hone_selftest_kernels[] = {\n");
    for (size_t i = 0; i < entry_count; i++)
        printf("    {\"%s\", %u, %u},\n", entries[i].entry, entries[i].binding_count, entries[i].needs);
    printf("    {0},\n};\n");
}

// Cases of one operator stand together.
static int by_operator(const void *a, const void *b) {
    const row *const x = a;
    const row *const y = b;
    const int order = strcmp(x->call.op, y->call.op);
    return order ? order : (x->from > y->from) - (x->from < y->from);
}

int main(int count, char **words) {
    const bool bench = count == 2 && strcmp(words[1], "bench") == 0;
    if (!bench && !(count == 2 && strcmp(words[1], "selftest") == 0)) {
        fprintf(stderr, "usage: make_cases selftest|bench\n");
        return 2;
    }
    read_tables(bench);
    if (!bench) choose();
    qsort(rows, row_count, sizeof(rows[0]), by_operator);
    printf("// Generated from the operators' tables of cases (tools/make_cases.c).\n#include <math.h>\n\n#include "
           "\"ops/case.h\"\n\n");
    for (size_t i = 0; i < row_count; i++) {
        if (!bench && !rows[i].chosen) continue;
        print_inputs(i, &rows[i].call);
        print_arguments(i, &rows[i].call);
    }
    printf("const hone_case hone_%s_cases[] = {\n", words[1]);
    for (size_t i = 0; i < row_count; i++) {
        if (bench || rows[i].chosen) print_case(i, &rows[i]);
    }
    printf("    {0},\n};\n");
    if (!bench) print_kernels();
    return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}
