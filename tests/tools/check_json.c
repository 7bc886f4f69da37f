// SPDX-License-Identifier: Apache-2.0
// Reads what the command line writes as a JSON parser sees it: check_json lines FILE | sum KEY FILE | trace FILE.
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

static int complain(const char *path, const char *what, size_t at) {
    fprintf(stderr, "%s: %s (%zu)\n", path, what, at);
    return 1;
}

// Every line is one object; with a key, prints the sum of its numbers.
static int check_lines(const char *path, const char *key) {
    static char line[1 << 20];
    FILE *const file = fopen(path, "r");
    double sum = 0;
    size_t number = 0;
    if (!file) return complain(path, "cannot be read", 0);
    while (fgets(line, sizeof line, file)) {
        number++;
        json_t *const object = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
        const bool fine = json_is_object(object);
        const json_t *const value = key ? json_object_get(object, key) : NULL;
        if (json_is_number(value)) sum += json_number_value(value);
        json_decref(object);
        if (!fine) {
            fclose(file);
            return complain(path, "not an object on the line", number);
        }
    }
    fclose(file);
    if (key) printf("%.9g\n", sum);
    return number ? 0 : complain(path, "no lines", 0);
}

typedef struct track {
    size_t names, events;
    double end; // of the last event
} track;

// Complete events of the device's track come one behind another, those of the host's begin in order and may be nested.
static const char *check_event(const json_t *event, track tracks[2]) {
    const char *const kind = json_string_value(json_object_get(event, "ph"));
    const json_int_t number = json_integer_value(json_object_get(event, "tid"));
    if (!kind || !json_string_value(json_object_get(event, "name")) || number < 1 || number > 2 ||
        json_integer_value(json_object_get(event, "pid")) != 1)
        return "an event without name, kind, process or track";
    track *const own = &tracks[number - 1];
    if (strcmp(kind, "M") == 0) {
        own->names += strcmp(json_string_value(json_object_get(event, "name")), "thread_name") == 0;
        return NULL;
    }
    const json_t *const at = json_object_get(event, "ts");
    if (!json_is_number(at) || !(json_number_value(at) >= 0)) return "an event without a time, or before the first";
    if (strcmp(kind, "X") != 0) return NULL;
    const json_t *const length = json_object_get(event, "dur");
    if (!json_is_number(length) || !(json_number_value(length) >= 0)) return "an event without a duration";
    const double rounding = 0.002;
    if (number == 2 && json_number_value(at) + rounding < own->end) return "operators that overlap";
    own->end = fmax(own->end, json_number_value(at) + json_number_value(length));
    own->events++;
    return NULL;
}

static int check_trace(const char *path) {
    json_error_t error;
    json_t *const root = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    if (!root) return complain(path, error.text, (size_t)error.line);
    const json_t *const events = json_object_get(root, "traceEvents");
    track tracks[2] = {0};
    const char *wrong = json_is_array(events) ? NULL : "no traceEvents";
    size_t i = 0;
    for (; !wrong && i < json_array_size(events); i++) wrong = check_event(json_array_get(events, i), tracks);
    if (!wrong && (tracks[0].names != 1 || tracks[1].names != 1)) wrong = "a track without a name";
    if (!wrong) printf("%zu %zu\n", tracks[0].events, tracks[1].events);
    json_decref(root);
    return wrong ? complain(path, wrong, i) : 0;
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "lines") == 0) return check_lines(argv[2], NULL);
    if (argc == 4 && strcmp(argv[1], "sum") == 0) return check_lines(argv[3], argv[2]);
    if (argc == 3 && strcmp(argv[1], "trace") == 0) return check_trace(argv[2]);
    fprintf(stderr, "usage: check_json lines FILE | sum KEY FILE | trace FILE\n");
    return 2;
}
