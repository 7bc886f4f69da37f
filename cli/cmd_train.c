// SPDX-License-Identifier: Apache-2.0
// hone train: a LoRA on a frozen base, from a data file, into a run folder.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "train.h"

static const char *const method_words[] = {"lora", "full4", NULL};
static const char *const precision_words[] = {"auto", "f32", "f16", "bf16", NULL};
static const char *const schedule_words[] = {"linear", "constant", "cosine", NULL}; // as hone_schedule

#define AT(member) .offset = offsetof(train_settings, member)

const cli_option train_option_table[] = {
    {CLI_HEADING, .help = "Output"},
    {CLI_TEXT, "output", 'o', .value = "RUN", AT(output), .help = "folder to make: adapter, state, metrics, report"},
    {CLI_FLAG, "resume", AT(resume),
     .help =
         "go on from RUN/state.hone; settings of adapter, steps, optimiser and rows (--valid P%, --loss, --sequence, "
         "--chat-format) that are not given are the run's own; --valid FILE has to be given again"},
    {CLI_INTEGER, "save-every", .value = "N", AT(save_every), .low = 0, .high = 1e9,
     .help = "save state, adapter and report every N steps; 0 is only at the end (100)"},
    {CLI_INTEGER, "keep", .value = "N", AT(keep), .low = 1, .high = 1e6,
     .help = "states that stay: state.hone is the newest, those before it are state-STEP.hone (1)"},
    {CLI_FLAG, "dry-run", AT(dry_run), .help = "scan the data, plan the memory, and stop"},
    {CLI_FLAG, "profile", AT(profile),
     .help = "print what each operator takes at the end, and write RUN/trace.json for chrome://tracing or Perfetto"},

    {CLI_HEADING, .help = "Adapter"},
    {CLI_CHOICE, "method", .value = "NAME", AT(method), .words = method_words, .help = "lora (lora)"},
    {CLI_INTEGER, "rank", .value = "N", AT(rank), .low = 1, .high = 4096, .help = "rank of each pair of matrices (16)"},
    {CLI_NUMBER, "alpha", .value = "X", AT(alpha), .low = 0, .above = true,
     .help = "the change is scaled by alpha / rank (2 * rank)"},
    {CLI_TEXT, "target", .value = "LIST", AT(target),
     .help = "q,k,v,o,gate,up,down,head or all (q,k,v,o,gate,up,down)"},
    {CLI_NUMBER, "dropout", .value = "P", AT(dropout), .low = 0, .high = 0.99,
     .help = "part of A's input that is dropped at random (0)"},
    {CLI_TEXT, "init-adapter", .value = "FILE", AT(init_adapter),
     .help = "start from this adapter instead of a new one"},

    {CLI_HEADING, .help = "Data"},
    CLI_DATA_OPTIONS(train_settings, data),
    {CLI_TEXT, "valid", .value = "FILE|P%", AT(valid),
     .help = "validation data, or the part of DATA's rows that is held out for it"},
    {CLI_INTEGER, "eval-every", .value = "N", AT(eval_every), .low = 1, .high = 1e9,
     .help = "evaluate every N steps (before the first, after each epoch, and at the end)"},
    {CLI_FLAG, "no-shuffle", AT(in_order), .help = "rows in the order of the file"},
    {CLI_FLAG, "pack", AT(pack), .help = "fill each batch with rows up to batch * sequence tokens"},
    {CLI_FLAG_OFF, "no-pack", AT(pack), .help = "batches of so many rows (default)"},

    {CLI_HEADING, .help = "Steps"},
    {CLI_NUMBER, "epochs", .value = "X", AT(epochs), .low = 0, .high = 1e9, .above = true,
     .help = "times through the data (1)"},
    {CLI_INTEGER, "steps", .value = "N", AT(steps), .low = 1, .high = 1e12,
     .help = "optimiser steps, instead of --epochs"},
    {CLI_INTEGER, "batch", .value = "N", AT(batch), .low = 1, .high = 1 << 20, .help = "rows at a time (8)"},
    {CLI_INTEGER, "accumulate", .value = "N", AT(accumulate), .low = 1, .high = 1 << 20,
     .help = "batches in a step; the loss is the mean over all their tokens (1)"},

    {CLI_HEADING, .help = "Optimiser"},
    {CLI_NUMBER, "lr", .value = "X", AT(rate), .low = 0, .above = true, .help = "learning rate (2e-4)"},
    {CLI_CHOICE, "schedule", .value = "NAME", AT(schedule), .words = schedule_words,
     .help = "constant, linear or cosine (linear)"},
    {CLI_TEXT, "warmup", .value = "N|P%", AT(warmup), .help = "steps of linear rise, or the part of all steps (0)"},
    {CLI_NUMBER, "lr-min", .value = "X", AT(rate_min), .low = 0, .help = "what linear and cosine end in (0)"},
    {CLI_NUMBER, "beta1", .value = "X", AT(beta1), .low = 0, .high = 0.999999999,
     .help = "decay of the first moment (0.9)"},
    {CLI_NUMBER, "beta2", .value = "X", AT(beta2), .low = 0, .high = 0.999999999,
     .help = "decay of the second moment (0.999)"},
    {CLI_NUMBER, "eps", .value = "X", AT(epsilon), .low = 0, .above = true, .help = "AdamW's epsilon (1e-8)"},
    {CLI_NUMBER, "weight-decay", .value = "X", AT(weight_decay), .low = 0, .help = "decoupled weight decay (0)"},
    {CLI_NUMBER, "clip", .value = "X", AT(clip), .low = 0, .help = "largest gradient norm; 0 is no clipping (1)"},
    {CLI_INTEGER, "seed", .value = "N", AT(seed), .low = 0, .high = 9007199254740992.0,
     .help = "of the adapter's start, the order of rows, dropout and --valid P% (1)"},

    {CLI_HEADING, .help = "Memory and precision"},
    {CLI_FLAG, "recompute", AT(recompute), .help = "compute layers again in the backward pass instead of keeping them"},
    {CLI_SIZE, "max-memory", .value = "SIZE", AT(max_memory),
     .help = "refuse what needs more, saying what would fit: 800M, 1.5GiB (a GPU's memory; no limit on the CPU)"},
    {CLI_CHOICE, "precision", .value = "NAME", AT(precision), .words = precision_words, .help = "auto or f32 (auto)"},
    {CLI_INTEGER, "submit-ms", .value = "N", AT(common.submit_ms), .low = 1, .high = 60000,
     .help = "hand work to a GPU in parts that should not take longer, in milliseconds (500)"},
    {CLI_INTEGER, "copy-every", .value = "N", AT(copy_every), .low = 1, .high = 1e9,
     .help = "on a GPU: copy the state to memory every N steps, or after 30 seconds, so that a lost GPU costs no more "
             "(50)"},
    {CLI_INTEGER, "reopen", .value = "N", AT(reopen), .low = 0, .high = 1000,
     .help = "how often in a row a lost GPU is opened again before the run ends (5)"},
    {CLI_REFUSED, "rescale-every",
     .help = "belongs to training all weights, which this version does not do: leave it out"},
    {CLI_END},
};

void train_defaults(void *opaque) {
    train_settings *const s = opaque;
    s->save_every = 100;
    s->keep = 1;
    s->rank = 16;
    s->batch = 8;
    s->accumulate = 1;
    s->rate = 2e-4;
    s->beta1 = 0.9;
    s->beta2 = 0.999;
    s->epsilon = 1e-8;
    s->clip = 1;
    s->seed = 1;
    s->copy_every = 50;
    s->reopen = 5;
}

bool train_given(const train_settings *settings, size_t offset) {
    return cli_given(&cli_train, settings, offset);
}

static bool ends_with_percent(const char *text) {
    return text[strlen(text) - 1] == '%';
}

// What the table cannot say; 0 or an exit code.
int train_check_settings(const train_settings *s) {
    double part;
    if (!s->output && (!s->dry_run || s->resume)) return cli_usage("'hone train' needs -o RUN, the folder to make");
    if (train_given(s, offsetof(train_settings, steps)) && train_given(s, offsetof(train_settings, epochs)))
        return cli_usage("--steps and --epochs say the same thing: give one of them");
    if (train_given(s, offsetof(train_settings, common.submit_ms)) && s->common.device &&
        strcmp(s->common.device, "cpu") == 0)
        return cli_usage("--submit-ms has no meaning on the CPU: leave it out");
    if (s->eval_every && !s->valid && !s->resume) return cli_usage("--eval-every needs --valid FILE or --valid P%%");
    if (s->resume && s->init_adapter)
        return cli_usage("--resume goes on with the run's own adapter: leave --init-adapter out");
    if (s->valid && ends_with_percent(s->valid) && (!cli_parse_percent(s->valid, &part) || part <= 0 || part >= 1))
        return cli_usage("--valid must be a file or a part above 0%% and below 100%%, not '%s'", s->valid);
    if (s->warmup && !(ends_with_percent(s->warmup) && cli_parse_percent(s->warmup, &part))) {
        double steps;
        if (!cli_parse_number(s->warmup, &steps) || steps < 0 || steps > 1e12 || steps != floor(steps))
            return cli_usage("--warmup must be a number of steps or a part as 5%%, not '%s'", s->warmup);
    }
    return 0;
}

static hone_status check_supported(const train_settings *s, hone_error *error) {
    HONE_FAIL_IF(s->method != 0, error, UNSUPPORTED,
                 "--method %s: this version trains LoRA adapters only; use --method lora", method_words[s->method]);
    HONE_FAIL_IF(s->precision > 1, error, UNSUPPORTED, "--precision %s is not on this device: use auto or f32",
                 precision_words[s->precision]);
    return s->dry_run && !s->resume ? HONE_OK : hone_run_folder_check(s->output, s->resume, error);
}

static hone_status train(train_run *run, hone_error *error) {
    const train_settings *const s = run->settings;
    HONE_TRY(check_supported(s, error));
    HONE_TRY(train_prepare(run, error));
    if (s->dry_run) {
        if (s->common.json) return train_print_plan_json(run, error);
        train_print_plan(run);
        return cli_flush(error);
    }
    if (!s->common.json && !s->common.quiet) {
        train_print_plan(run);
        HONE_TRY(cli_flush(error));
    }
    HONE_TRY(train_loop(run, error));
    if (s->profile) HONE_TRY(train_print_profile(run, error));
    return train_finish(run, error);
}

static int run_train(void *opaque, const char *const *arguments, size_t count) {
    (void)count;
    const train_settings *const settings = opaque;
    const int wrong = train_check_settings(settings);
    if (wrong) return wrong;
    cli_interrupt_watch(settings->common.quiet ? NULL : "\nhone: " TRAIN_STOPPING "\n");
    train_run run = {.settings = settings,
                     .model_path = arguments[0],
                     .data_path = arguments[1],
                     .first_loss = NAN,
                     .last_loss = NAN,
                     .eval_loss = NAN};
    hone_error error = {0};
    cli_progress_start(&run.progress, !settings->common.json && !settings->common.quiet);
    const hone_status status = train(&run, &error);
    cli_progress_clear(&run.progress);
    train_close(&run);
    return status == HONE_OK ? CLI_DONE : cli_fail(&error);
}

const cli_command cli_train = {
    .name = "train",
    .arguments = "MODEL DATA -o RUN [OPTIONS]",
    .summary = "fine-tune a model: a LoRA adapter from a data file",
    .details =
        "MODEL is a GGUF file of the llama family; DATA a file of JSON lines, a JSON array or plain text (see 'hone "
        "data\n"
        "--help'). RUN gets adapter.gguf (llama.cpp), adapter_model.safetensors with adapter_config.json (PEFT), "
        "state.hone,\n"
        "metrics.jsonl and report.html. Ctrl-C finishes the step, saves and exits with 130; a second one ends at "
        "once.\n"
        "To go on from an older state, copy its state-STEP.hone over state.hone.\n"
        "With --json each step prints "
        "{\"step\",\"loss\",\"tokens\",\"supervised\",\"lr\",\"grad_norm\",\"tokens_per_s\",\"seconds\"},\n"
        "an evaluation {\"eval_loss\",\"perplexity\",\"tokens\",\"step\"}, and the last line is {\"done\":true,...}.",
    .options = train_option_table,
    .computes = true,
    .least = 2,
    .most = 2,
    .settings_bytes = sizeof(train_settings),
    .defaults = train_defaults,
    .run = run_train,
};
