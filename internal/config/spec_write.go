package config

import (
	"bytes"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// YAML returns the Spec as a deploy.yaml, with its passwords, in the order of the manual.
func (s Spec) YAML() []byte {
	w := specWriter{table: theTable()}
	w.fields(Key{}, reflect.ValueOf(s), "", "")
	if w.b.Len() == 0 {
		return []byte("{}\n")
	}
	return w.b.Bytes()
}

type specWriter struct {
	b     bytes.Buffer
	table *table
}

// fields writes the keys of a struct that are set. first is the text before the first of its lines.
func (w *specWriter) fields(k Key, of reflect.Value, first, indent string) {
	for _, one := range w.table.below[k.shape()] {
		if field := w.table.field(of, one); !field.IsZero() {
			w.b.WriteString(first + one.written() + ":")
			w.value(one, field, indent)
			first = indent
		}
	}
}

// value writes what stands behind a key that is indented.
func (w *specWriter) value(k Key, of reflect.Value, indent string) {
	switch of.Kind() {
	case reflect.Struct:
		w.b.WriteString("\n")
		w.fields(k, of, indent+"  ", indent+"  ")
	case reflect.Slice:
		w.items(k, of, indent)
	case reflect.Map:
		w.named(k, of, indent+"  ")
	case reflect.Int:
		w.b.WriteString(" " + strconv.Itoa(int(of.Int())) + "\n")
	case reflect.Bool:
		w.b.WriteString(" true\n")
	default:
		w.b.WriteString(" " + Setting{Kind: k.Kind}.written(of.String()) + "\n")
	}
}

func (w *specWriter) items(k Key, of reflect.Value, indent string) {
	if of.Len() == 0 {
		w.b.WriteString(" []\n")
		return
	}
	w.b.WriteString("\n")
	for i := range of.Len() {
		switch one := of.Index(i); {
		case one.IsZero() && one.Kind() == reflect.Struct:
			w.b.WriteString(indent + "- {}\n")
		case one.Kind() == reflect.Struct:
			w.fields(k, one, indent+"- ", indent+"  ")
		default:
			w.b.WriteString(indent + "- " + Setting{}.written(one.String()) + "\n")
		}
	}
}

// named writes a map with any names, sorted.
func (w *specWriter) named(k Key, of reflect.Value, indent string) {
	if of.Len() == 0 {
		w.b.WriteString(" {}\n")
		return
	}
	w.b.WriteString("\n")
	names := of.MapKeys()
	slices.SortFunc(names, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	for _, name := range names {
		w.b.WriteString(indent + quote(name.String()) + ":")
		if one := of.MapIndex(name); one.IsZero() && one.Kind() == reflect.Struct {
			w.b.WriteString(" {}\n")
		} else {
			w.value(k, one, indent)
		}
	}
}
