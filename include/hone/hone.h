// SPDX-License-Identifier: Apache-2.0
// hone: fine-tuning of 4-bit language models. This header brings all of the library:
//
//     hone_device *device = NULL;
//     hone_model *model = NULL;
//     hone_lora *lora = NULL;
//     hone_dataset *data = NULL;
//     hone_trainer *trainer = NULL;
//     hone_step_report report = {0};
//     if (hone_device_open(NULL, &device, &error) == HONE_OK &&
//         hone_model_open(device, "model.gguf", &model, &error) == HONE_OK &&
//         hone_data_open(model, "data.jsonl", NULL, &data, &error) == HONE_OK &&
//         hone_lora_create(model, NULL, &lora, &error) == HONE_OK &&
//         hone_trainer_create(model, lora, data, NULL, &trainer, &error) == HONE_OK)
//         while (report.step < hone_trainer_options(trainer)->steps && hone_trainer_step(trainer, &report, &error) == HONE_OK)
//             printf("%lld %.4f\n", (long long)report.step, report.loss);
//
#ifndef HONE_HONE_H
#define HONE_HONE_H

#include <hone/status.h>
#include <hone/tensor.h>
#include <hone/op.h>
#include <hone/device.h>
#include <hone/graph.h>
#include <hone/model.h>
#include <hone/data.h>
#include <hone/train.h>
#include <hone/program.h>

#endif
