package i18n

import (
	"embed"
	"encoding/json"
	"fmt"
	"sync"
)

// sentences are the data files: an object for each language, sentences by key, sorted.
//
//go:embed sentences/en.json sentences/zh.json
var sentences embed.FS

// The catalogs are read once, when the first printer of the language is made.
var (
	english = sync.OnceValue(func() map[string]string { return read(English) })
	chinese = sync.OnceValue(func() map[string]string { return read(Chinese) })
)

// catalog has the sentences of a language. Nobody may write to it.
func catalog(lang Lang) map[string]string {
	if lang == Chinese {
		return chinese()
	}
	return english()
}

// read parses a data file. It is part of the program, and a test reads both: a file that cannot be read is a fault of
// the build.
func read(lang Lang) map[string]string {
	text, err := sentences.ReadFile("sentences/" + string(lang) + ".json")
	if err != nil {
		panic(fmt.Sprintf("i18n: %v", err))
	}
	var all map[string]string
	if err := json.Unmarshal(text, &all); err != nil {
		panic(fmt.Sprintf("i18n: %s.json: %v", lang, err))
	}
	return all
}
