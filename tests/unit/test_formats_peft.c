// SPDX-License-Identifier: Apache-2.0
// Adapters in PEFT's layout: names, the order of rotary rows, ranks, scales and alphas, refusals, full disks, no memory.
#include "support/scratch.h"

#include <jansson.h>
#include <math.h>

#include "formats/adapter.h"
#include "formats/safetensors.h"

enum { HEADS = 3, KV_HEADS = 2, HEAD_DIM = 4, WIDTH = 12, RANK = 2 };

static const hone_peft_options options = {
    .base_model = "org/base",
    .architecture = "llama",
    .permuted = true,
    .tied_head = true,
    .n_head = HEADS,
    .n_head_kv = KV_HEADS,
    .head_dim = HEAD_DIM,
};

static void add(hone_adapter *adapter, const char *name, int64_t rank, int64_t n_in, int64_t n_out) {
    hone_adapter_entry *entry = NULL;
    OK(hone_adapter_add(adapter, name, rank, n_in, n_out, &entry, &why));
    for (int64_t i = 0; i < rank * n_in; i++) entry->a[i] = (float)(adapter->count * 1000) + (float)i;
    for (int64_t i = 0; i < n_out * rank; i++) entry->b[i] = (float)(adapter->count * 2000) + (float)i;
}

static hone_adapter *make(int layers) {
    hone_adapter *adapter = NULL;
    OK(hone_adapter_create("llama", "base", NULL, &adapter, &why));
    adapter->alpha = 16;
    adapter->has_alpha = true;
    for (int layer = 0; layer < layers; layer++) {
        const struct {
            const char *part;
            int64_t n_in;
            int64_t n_out;
        } parts[] = {{"attn_q", WIDTH, HEADS * HEAD_DIM},
                     {"attn_k", WIDTH, KV_HEADS * HEAD_DIM},
                     {"attn_v", WIDTH, KV_HEADS * HEAD_DIM},
                     {"attn_output", HEADS * HEAD_DIM, WIDTH},
                     {"ffn_gate", WIDTH, 20},
                     {"ffn_up", WIDTH, 20},
                     {"ffn_down", 20, WIDTH}};
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
            char name[64];
            snprintf(name, sizeof name, "blk.%d.%s.weight", layer, parts[i].part);
            add(adapter, name, RANK, parts[i].n_in, parts[i].n_out);
        }
    }
    return adapter;
}

static void remove_folder(const char *folder) {
    char path[256];
    snprintf(path, sizeof path, "%s/adapter_model.safetensors", folder);
    unlink(path);
    snprintf(path, sizeof path, "%s/adapter_config.json", folder);
    unlink(path);
    assert_int_equal(rmdir(folder), 0);
}

static void same_adapter(const hone_adapter *one, const hone_adapter *other) {
    assert_int_equal(one->count, other->count);
    for (size_t i = 0; i < one->count; i++) {
        const hone_adapter_entry *const a = &one->entries[i];
        const hone_adapter_entry *const b = hone_adapter_find(other, a->name);
        assert_non_null(b);
        assert_int_equal(a->rank, b->rank);
        assert_int_equal(a->n_in, b->n_in);
        assert_int_equal(a->n_out, b->n_out);
        assert_memory_equal(a->a, b->a, (size_t)(a->rank * a->n_in) * sizeof *a->a);
        assert_memory_equal(a->b, b->b, (size_t)(a->n_out * a->rank) * sizeof *a->b);
    }
}

static json_t *load_config(const char *folder) {
    char path[256];
    snprintf(path, sizeof path, "%s/adapter_config.json", folder);
    json_t *const config = json_load_file(path, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(config);
    return config;
}

static void what_is_written_is_read(void **state) {
    (void)state;
    const size_t held = scratch_held();
    for (int kind = 0; kind < 4; kind++) {
        hone_adapter *const adapter = make(12); // two digits: not the order of the names
        adapter->rank_stabilised = kind & 1;
        if (kind & 2) {
            add(adapter, "token_embd.weight", 3, WIDTH, 30);
            add(adapter, "blk.12.attn_q.weight", 5, WIDTH, HEADS * HEAD_DIM);
        }
        hone_adapter *back = NULL;
        OK(hone_adapter_write_peft("p", adapter, &options, &why));
        OK(hone_adapter_read_peft("p", &options, &back, &why));
        same_adapter(adapter, back);
        assert_true(back->alpha == 16);
        assert_int_equal(back->rank_stabilised, adapter->rank_stabilised);
        assert_string_equal(back->architecture, "llama");
        assert_string_equal(back->base_name, "org/base");
        hone_adapter_destroy(back);
        hone_adapter_destroy(adapter);
        remove_folder("p");
    }
    assert_int_equal(scratch_held(), held);
}

// Row h * hd + 2 i + j of GGUF is row h * hd + i + j * hd / 2 of Hugging Face's Llama; A stays.
static void rotary_rows_change_places(void **state) {
    (void)state;
    hone_adapter *const adapter = make(1);
    hone_safetensors *file = NULL;
    OK(hone_adapter_write_peft("p", adapter, &options, &why));
    OK(hone_safetensors_open("p/adapter_model.safetensors", &file, &why));
    assert_int_equal(file->tensor_count, 14);
    const struct {
        const char *module;
        const char *tensor;
        int heads; // 0: stays
    } cases[] = {{"self_attn.q_proj", "attn_q", HEADS}, {"self_attn.k_proj", "attn_k", KV_HEADS},
                 {"self_attn.v_proj", "attn_v", 0},     {"self_attn.o_proj", "attn_output", 0},
                 {"mlp.gate_proj", "ffn_gate", 0},      {"mlp.up_proj", "ffn_up", 0},
                 {"mlp.down_proj", "ffn_down", 0}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        char name[128];
        float values[20 * WIDTH];
        snprintf(name, sizeof name, "blk.0.%s.weight", cases[c].tensor);
        const hone_adapter_entry *const entry = hone_adapter_find(adapter, name);
        snprintf(name, sizeof name, "base_model.model.model.layers.0.%s.lora_A.weight", cases[c].module);
        OK(hone_safetensors_read_floats(file, hone_safetensors_find(file, name), values, &why));
        assert_memory_equal(values, entry->a, (size_t)(RANK * entry->n_in) * sizeof *values);
        *strstr(name, "lora_A") = 0;
        strcat(name, "lora_B.weight");
        const hone_safetensors_tensor *const b = hone_safetensors_find(file, name);
        assert_int_equal(b->type.dims[0], entry->n_out);
        assert_int_equal(b->type.dims[1], RANK);
        OK(hone_safetensors_read_floats(file, b, values, &why));
        if (cases[c].heads == 0) assert_memory_equal(values, entry->b, (size_t)(entry->n_out * RANK) * sizeof *values);
        for (int h = 0; h < cases[c].heads; h++) {
            for (int i = 0; i < HEAD_DIM / 2; i++) {
                for (int j = 0; j < 2; j++) {
                    const int theirs = h * HEAD_DIM + i + j * HEAD_DIM / 2;
                    const int ours = h * HEAD_DIM + 2 * i + j;
                    assert_memory_equal(&values[theirs * RANK], &entry->b[ours * RANK], RANK * sizeof *values);
                }
            }
        }
    }
    hone_safetensors_close(file);
    hone_adapter_destroy(adapter);
    remove_folder("p");
}

static void without_permutation_rows_stay(void **state) {
    (void)state;
    hone_adapter *const adapter = make(1);
    hone_adapter *back = NULL;
    hone_peft_options plain = options;
    plain.permuted = false;
    OK(hone_adapter_write_peft("p", adapter, &plain, &why));
    OK(hone_adapter_read_peft("p", &plain, &back, &why));
    same_adapter(adapter, back);
    hone_adapter_destroy(back);
    OK(hone_adapter_read_peft("p", &options, &back, &why));
    assert_true(memcmp(back->entries[0].b, adapter->entries[0].b, RANK * WIDTH * sizeof(float)) != 0);
    hone_adapter_destroy(back);
    hone_adapter_destroy(adapter);
    remove_folder("p");
}

static void the_configuration_says_it_all(void **state) {
    (void)state;
    hone_adapter *adapter = make(2);
    OK(hone_adapter_write_peft("p", adapter, &options, &why));
    json_t *config = load_config("p");
    assert_string_equal(json_string_value(json_object_get(config, "peft_type")), "LORA");
    assert_string_equal(json_string_value(json_object_get(config, "task_type")), "CAUSAL_LM");
    assert_string_equal(json_string_value(json_object_get(config, "base_model_name_or_path")), "org/base");
    assert_int_equal(json_integer_value(json_object_get(config, "r")), RANK);
    assert_true(json_number_value(json_object_get(config, "lora_alpha")) == 16);
    assert_true(json_is_false(json_object_get(config, "use_rslora")));
    const json_t *targets = json_object_get(config, "target_modules");
    assert_int_equal(json_array_size(targets), 7);
    assert_string_equal(json_string_value(json_array_get(targets, 0)), "q_proj");
    assert_int_equal(json_object_size(json_object_get(config, "rank_pattern")), 0);
    json_decref(config);
    // One layer lacks some: paths in full. One rank differs: it is named.
    add(adapter, "blk.2.attn_q.weight", 5, WIDTH, HEADS * HEAD_DIM);
    add(adapter, "output.weight", RANK, WIDTH, 30);
    adapter->alpha = 0.5f;
    OK(hone_adapter_write_peft("p", adapter, &options, &why));
    config = load_config("p");
    targets = json_object_get(config, "target_modules");
    assert_int_equal(json_array_size(targets), 16);
    assert_string_equal(json_string_value(json_array_get(targets, 14)), "model.layers.2.self_attn.q_proj");
    assert_string_equal(json_string_value(json_array_get(targets, 15)), "lm_head");
    const json_t *const ranks = json_object_get(config, "rank_pattern");
    assert_int_equal(json_object_size(ranks), 1);
    assert_int_equal(json_integer_value(json_object_get(ranks, "model.layers.2.self_attn.q_proj")), 5);
    assert_true(json_number_value(json_object_get(config, "lora_alpha")) == 0.5);
    json_decref(config);
    hone_adapter_destroy(adapter);
    remove_folder("p");
}

static void says(hone_status status, hone_status wanted, const hone_error *error, const char *words) {
    if (status != wanted)
        fail_msg("%s instead of %s: %s", hone_status_name(status), hone_status_name(wanted), error->message);
    if (!strstr(error->message, words)) fail_msg("'%s' does not say '%s'", error->message, words);
}

static void what_has_no_counterpart_is_not_written(void **state) {
    (void)state;
    hone_error error = {0};
    hone_adapter *adapter = make(1);
    add(adapter, "blk.0.attn_qkv.weight", 1, 1, 1);
    says(hone_adapter_write_peft("p", adapter, &options, &error), HONE_UNSUPPORTED, &error, "blk.0.attn_qkv.weight");
    hone_adapter_destroy(adapter);
    adapter = make(1);
    hone_peft_options other = options;
    other.n_head = 6;
    says(hone_adapter_write_peft("p", adapter, &other, &error), HONE_MISMATCH, &error, "6 heads of 4");
    other.head_dim = 3;
    says(hone_adapter_write_peft("p", adapter, &other, &error), HONE_MISMATCH, &error, "another model");
    adapter->entries[3].a[0] = NAN;
    says(hone_adapter_write_peft("p", adapter, &options, &error), HONE_NOT_FINITE, &error, "attn_output");
    hone_adapter_destroy(adapter);
    assert_int_equal(scratch_count("p"), 0);
    assert_int_equal(rmdir("p"), 0);
}

// A folder with this configuration and, for each name, a tensor [rows, columns] of ones.
static void forge(const char *config, const char *const *names, const int64_t (*dims)[2], size_t count) {
    float ones[256];
    hone_safetensors_item items[8];
    for (size_t i = 0; i < 256; i++) ones[i] = 1;
    for (size_t i = 0; i < count; i++) {
        items[i] = (hone_safetensors_item){names[i], {hone_type_of(HONE_DTYPE_F32, 2, dims[i]), ones}};
    }
    if (access("f", F_OK) != 0) assert_int_equal(mkdir("f", 0777), 0);
    scratch_write("f/adapter_config.json", config, strlen(config));
    OK(hone_safetensors_write("f/adapter_model.safetensors", items, count, NULL, 0, &why));
}

#define P "base_model.model.model.layers.0."
static const char *const pair_names[] = {P "mlp.up_proj.lora_A.weight", P "mlp.up_proj.lora_B.weight"};
static const int64_t pair_dims[][2] = {{2, 12}, {20, 2}};

static void config_is(const char *config, hone_status wanted, const char *words) {
    forge(config, pair_names, pair_dims, 2);
    const size_t held = scratch_held();
    hone_error error = {0};
    hone_adapter *adapter = NULL;
    says(hone_adapter_read_peft("f", &options, &adapter, &error), wanted, &error, words);
    hone_adapter_destroy(adapter);
    assert_int_equal(scratch_held(), held);
}

#define CONFIG(more) "{\"peft_type\":\"LORA\",\"r\":2,\"lora_alpha\":8" more "}"

static void configurations_are_checked(void **state) {
    (void)state;
    config_is(CONFIG(""), HONE_OK, "");
    config_is(CONFIG(",\"use_dora\":false,\"bias\":\"none\",\"alpha_pattern\":null"), HONE_OK, "");
    config_is("{\"peft_type\":\"LORA\",\"r\":2}", HONE_BAD_FORMAT, "no lora_alpha");
    config_is("{\"peft_type\":\"LORA\",\"r\":2,\"lora_alpha\":null}", HONE_BAD_FORMAT, "no lora_alpha");
    config_is("{\"peft_type\":\"LORA\",\"r\":2,\"lora_alpha\":0}", HONE_BAD_FORMAT, "alpha is 0");
    config_is("{\"peft_type\":\"LORA\",\"r\":4,\"lora_alpha\":8}", HONE_MISMATCH, "has rank 2");
    config_is("{\"peft_type\":\"IA3\"}", HONE_UNSUPPORTED, "IA3");
    config_is("{}", HONE_UNSUPPORTED, "missing");
    config_is("[]", HONE_BAD_FORMAT, "not a JSON object");
    config_is("{", HONE_BAD_FORMAT, "line 1");
    config_is(CONFIG(",\"use_dora\":true"), HONE_UNSUPPORTED, "DoRA");
    config_is(CONFIG(",\"fan_in_fan_out\":true"), HONE_UNSUPPORTED, "fan_in_fan_out");
    config_is(CONFIG(",\"bias\":\"all\""), HONE_UNSUPPORTED, "biases");
    config_is(CONFIG(",\"rank_pattern\":{\"up_proj\":3}"), HONE_MISMATCH, "says 3");
    config_is(CONFIG(",\"rank_pattern\":{\"down_proj\":3,\"p_proj\":3}"), HONE_OK, "");
    config_is(CONFIG(",\"rank_pattern\":{\".*up\":3}"), HONE_UNSUPPORTED, "regular expression");
    config_is(CONFIG(",\"alpha_pattern\":{\"up_proj\":\"x\"}"), HONE_BAD_FORMAT, "not a number");
    remove_folder("f");
}

static void tensors_are_checked(void **state) {
    (void)state;
    const struct {
        const char *names[2];
        int64_t dims[2][2];
        size_t count;
        hone_status status;
        const char *words;
    } cases[] = {
        {{P "mlp.up_proj.lora_A.weight"}, {{2, 12}}, 1, HONE_BAD_FORMAT, "no partner"},
        {{P "mlp.up_proj.lora_B.weight"}, {{2, 12}}, 1, HONE_BAD_FORMAT, "no partner"},
        {{P "mlp.up_proj.lora_magnitude_vector"}, {{2, 12}}, 1, HONE_UNSUPPORTED, "magnitude"},
        {{"base_model.model.lm_head.weight"}, {{2, 12}}, 1, HONE_UNSUPPORTED, "lm_head.weight"},
        {{"x"}, {{2, 12}}, 1, HONE_UNSUPPORTED, "'x'"},
        {{P "mlp.fc.lora_A.weight", P "mlp.fc.lora_B.weight"}, {{2, 12}, {20, 2}}, 2, HONE_UNSUPPORTED, "mlp.fc"},
        {{P "mlp.up_proj.lora_A.weight", P "mlp.up_proj.lora_B.weight"},
         {{2, 12}, {20, 3}},
         2,
         HONE_BAD_FORMAT,
         "do not fit"},
        {{P "mlp.up_proj.lora_A.weight", P "mlp.up_proj.lora_B.weight"},
         {{0, 12}, {20, 0}},
         2,
         HONE_BAD_FORMAT,
         "do not fit"},
        {{P "self_attn.q_proj.lora_A.weight", P "self_attn.q_proj.lora_B.weight"},
         {{2, 12}, {16, 2}},
         2,
         HONE_MISMATCH,
         "another model"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        forge(CONFIG(""), cases[i].names, cases[i].dims, cases[i].count);
        const size_t held = scratch_held();
        hone_error error = {0};
        hone_adapter *adapter = NULL;
        says(hone_adapter_read_peft("f", &options, &adapter, &error), cases[i].status, &error, cases[i].words);
        assert_null(adapter);
        assert_int_equal(scratch_held(), held);
    }
    forge(CONFIG(""), NULL, NULL, 0);
    hone_error error = {0};
    hone_adapter *adapter = NULL;
    says(hone_adapter_read_peft("f", &options, &adapter, &error), HONE_BAD_FORMAT, &error, "no tensors");
    remove_folder("f");
    says(hone_adapter_read_peft("f", &options, &adapter, &error), HONE_NOT_FOUND, &error, "adapter_config.json");
}

static void alphas_of_their_own_go_into_b(void **state) {
    (void)state;
    const char *const patterns[] = {"up_proj", "mlp.up_proj", "model.layers.0.mlp.up_proj",
                                    "^model.layers.0.mlp.up_proj"};
    for (size_t i = 0; i < 4; i++) {
        char config[256];
        snprintf(config, sizeof config, CONFIG(",\"alpha_pattern\":{\"%s\":4}"), patterns[i]);
        forge(config, pair_names, pair_dims, 2);
        hone_adapter *adapter = NULL;
        OK(hone_adapter_read_peft("f", &options, &adapter, &why));
        assert_true(adapter->alpha == 8);
        assert_true(adapter->entries[0].b[7] == 0.5f);
        assert_true(adapter->entries[0].a[7] == 1);
        hone_adapter_destroy(adapter);
    }
    remove_folder("f");
}

static void a_full_disk_leaves_no_half_file(void **state) {
    (void)state;
    hone_adapter *const adapter = make(1);
    const size_t held = scratch_held();
    hone_status status = HONE_PENDING;
    for (uint64_t bytes = 0; status != HONE_OK; bytes += 11) {
        hone_output_fail_after(bytes);
        status = hone_adapter_write_peft("p", adapter, &options, NULL);
        hone_output_fail_after(UINT64_MAX);
        assert_int_equal(scratch_held(), held);
        if (status == HONE_OK) break;
        assert_int_equal(status, HONE_IO);
        // The tensors may be there, whole; the configuration not.
        hone_safetensors *file = NULL;
        if (access("p/adapter_model.safetensors", F_OK) == 0) {
            OK(hone_safetensors_open("p/adapter_model.safetensors", &file, &why));
            hone_safetensors_close(file);
        }
        assert_int_equal(scratch_count("p"), file != NULL);
    }
    hone_adapter_destroy(adapter);
    remove_folder("p");
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    hone_adapter *const adapter = make(1);
    const size_t held = scratch_held();
    hone_status status = HONE_PENDING;
    for (uint64_t n = 0; status != HONE_OK; n++) {
        hone_memory_fail_after(n, false);
        status = hone_adapter_write_peft("p", adapter, &options, NULL);
        hone_memory_fail_after(UINT64_MAX, false);
        assert_int_equal(scratch_held(), held);
        assert_true(status == HONE_OK || status == HONE_OUT_OF_MEMORY);
    }
    status = HONE_PENDING;
    for (uint64_t n = 0; status != HONE_OK; n++) {
        hone_adapter *back = NULL;
        hone_memory_fail_after(n, false);
        status = hone_adapter_read_peft("p", &options, &back, NULL);
        hone_memory_fail_after(UINT64_MAX, false);
        hone_adapter_destroy(back);
        assert_int_equal(scratch_held(), held);
        assert_true(status == HONE_OK || status == HONE_OUT_OF_MEMORY);
    }
    hone_adapter_destroy(adapter);
    remove_folder("p");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(rotary_rows_change_places),
        cmocka_unit_test(without_permutation_rows_stay),
        cmocka_unit_test(the_configuration_says_it_all),
        cmocka_unit_test(what_has_no_counterpart_is_not_written),
        cmocka_unit_test(configurations_are_checked),
        cmocka_unit_test(tensors_are_checked),
        cmocka_unit_test(alphas_of_their_own_go_into_b),
        cmocka_unit_test(a_full_disk_leaves_no_half_file),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, scratch_enter, scratch_leave);
}
