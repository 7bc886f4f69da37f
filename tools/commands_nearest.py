# SPDX-License-Identifier: Apache-2.0
"""For each held-out sentence the most similar training sentence, by several measures of likeness."""

import collections
import math
import re


def words(text):
    return re.findall(r"\w+", text.lower())


def char_grams(text, low=2, high=4):
    text = f" {text.lower()} "
    return [text[i:i + n] for n in range(low, high + 1) for i in range(len(text) - n + 1)]


def jaccard(tokens):
    def build(_corpus):
        def similarity(a, b):
            one, two = set(tokens(a)), set(tokens(b))
            return len(one & two) / len(one | two)
        return similarity
    return build


def tfidf_cosine(tokens):
    """Term frequency times the logarithm of the inverse document frequency in training, cosine of the two vectors."""
    def build(corpus):
        documents = collections.Counter(term for text in corpus for term in set(tokens(text)))
        memo = {}

        def vector(text):
            if text not in memo:
                counts = collections.Counter(tokens(text))
                weights = {t: c * (math.log((1 + len(corpus)) / (1 + documents[t])) + 1) for t, c in counts.items()}
                norm = math.sqrt(sum(w * w for w in weights.values()))
                memo[text] = {t: w / norm for t, w in weights.items()}
            return memo[text]

        def similarity(a, b):
            one, two = vector(a), vector(b)
            return sum(weight * two[term] for term, weight in one.items() if term in two)
        return similarity
    return build


def edit_distance(a, b):
    """Levenshtein's distance by Myers' bit vectors: one big-integer step per character of b (a is not empty)."""
    masks = collections.defaultdict(int)
    for i, char in enumerate(a):
        masks[char] |= 1 << i
    top, full = 1 << (len(a) - 1), (1 << len(a)) - 1
    up, down, distance = full, 0, len(a)
    for char in b:
        match = masks.get(char, 0)
        diagonal = (((match & up) + up) ^ up) | match | down
        right_up = (down | ~(diagonal | up)) & full
        right_down = up & diagonal
        distance += bool(right_up & top) - bool(right_down & top)
        right_up = (right_up << 1 | 1) & full
        right_down = (right_down << 1) & full
        up = (right_down | ~(diagonal | right_up)) & full
        down = right_up & diagonal
    return distance


def edit_likeness(_corpus):
    return lambda a, b: 1 - edit_distance(a.lower(), b.lower()) / max(len(a), len(b))


MEASURES = {
    "Jaccard, words": jaccard(words),
    "Jaccard, characters": jaccard(char_grams),
    "TF-IDF, words": tfidf_cosine(words),
    "TF-IDF, characters": tfidf_cosine(char_grams),
    "edit distance": edit_likeness,
}


def nearest_rows(train, heldout):
    """Yields (measure, for each held-out sentence the index of its nearest training sentence)."""
    for name, build in MEASURES.items():
        similarity = build(train)
        yield name, [max(range(len(train)), key=lambda i: similarity(text, train[i])) for text in heldout]
