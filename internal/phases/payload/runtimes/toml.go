package runtimes

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

var bareKey = regexp.MustCompile(`\A[A-Za-z0-9_-]+\z`)

// tomlText renders tables, keys sorted, so that the same settings give the same bytes. Values are text, bool, int,
// json.Number, lists of these, and tables.
func tomlText(doc map[string]any) string {
	var b strings.Builder
	tomlTable(&b, "", doc)
	return b.String()
}

func tomlTable(b *strings.Builder, path string, table map[string]any) {
	keys := slices.Sorted(maps.Keys(table))
	for _, k := range keys {
		if _, sub := table[k].(map[string]any); !sub {
			fmt.Fprintf(b, "%s = %s\n", tomlKey(k), tomlValue(table[k]))
		}
	}
	for _, k := range keys {
		sub, ok := table[k].(map[string]any)
		if !ok {
			continue
		}
		at := tomlKey(k)
		if path != "" {
			at = path + "." + at
		}
		if len(sub) == 0 || slices.ContainsFunc(slices.Collect(maps.Values(sub)),
			func(v any) bool { _, is := v.(map[string]any); return !is }) {
			fmt.Fprintf(b, "\n[%s]\n", at)
		}
		tomlTable(b, at, sub)
	}
}

func tomlKey(k string) string {
	if bareKey.MatchString(k) {
		return k
	}
	return tomlString(k)
}

// tomlString is a basic string: of JSON's escapes TOML knows all but \/, which the encoder does not write.
func tomlString(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(s) != nil {
		return `""`
	}
	return strings.ReplaceAll(strings.TrimSuffix(b.String(), "\n"), "\x7f", `\u007f`)
}

func tomlValue(v any) string {
	switch v := v.(type) {
	case string:
		return tomlString(v)
	case []string:
		return tomlList(v, tomlString)
	case []any:
		return tomlList(v, tomlValue)
	}
	return fmt.Sprint(v)
}

func tomlList[T any](list []T, word func(T) string) string {
	words := make([]string, 0, len(list))
	for _, x := range list {
		words = append(words, word(x))
	}
	return "[" + strings.Join(words, ", ") + "]"
}

// setting is a value of config-extra-args for a runtime: what is JSON (a number, true, a list, an object) is that,
// everything else is text.
func setting(text string) any {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil || v == nil || d.More() {
		return text
	}
	return v
}
