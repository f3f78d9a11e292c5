package config

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Setting is a key of deploy.yaml that a person can fill in. The lists of machines are none: they are Draft.Machines.
type Setting struct {
	Key     string // path with dots: service.dns.replicas
	Kind    Kind
	Choices []string // of a Choice, the default first
	Default string   // what holds when nothing is said; "" when it follows from something else, or there is none
	Wizard  Place    // where the wizard asks for it
	// Applies reports whether it does, by what other keys have; nil: always.
	Applies func(get func(key string) string) bool
}

// Label is the key as files of this program have it.
func (s Setting) Label() string {
	k, is := theTable().find(s.Key)
	if !is {
		return s.Key
	}
	return strings.TrimSuffix(s.Key, k.name()) + k.written()
}

// Settings are all of them, in the order in which they are written: that of the manual.
func Settings() []Setting { return theTable().settings() }

func (t *table) settings() []Setting {
	var out []Setting
	for _, k := range t.keys {
		if s, ok := t.setting(k); ok {
			out = append(out, s)
		}
	}
	return out
}

// setting returns the setting of a key that a user can fill in: one whose parents are all of kind Map.
func (t *table) setting(k Key) (Setting, bool) {
	if k.Kind == Map || k.Kind == Machines {
		return Setting{}, false
	}
	for up := k.above(); up != ""; up = (Key{Path: up}).above() {
		if a, ok := t.find(up); !ok || a.Kind != Map {
			return Setting{}, false
		}
	}
	s := Setting{Key: k.Path, Kind: k.Kind, Choices: k.Choices, Default: k.Default, Wizard: k.Wizard,
		Applies: k.Applies}
	switch k.Kind {
	case Address, Network, Duration:
		s.Kind = Text
	}
	return s, true
}

// SettingsOf are those that a step of the wizard asks for, in its order.
func SettingsOf(step string) []Setting {
	out := slices.DeleteFunc(Settings(), func(s Setting) bool { return s.Wizard.Step != step || s.Wizard.At == 0 })
	slices.SortStableFunc(out, func(a, b Setting) int { return a.Wizard.At - b.Wizard.At })
	return out
}

// SettingOf is the setting of a key.
func SettingOf(key string) (Setting, bool) {
	t := theTable()
	k, ok := t.find(key)
	if !ok {
		return Setting{}, false
	}
	return t.setting(k)
}

// BundleKey is the key that names the bundle of an architecture.
func BundleKey(arch string) string {
	if arch == "arm64" {
		return "package-src.armsrc"
	}
	return "package-src.x86src"
}

var bareScalar = regexp.MustCompile(
	`\A(?:true|false|0|[1-9][0-9]{0,8}|[0-9]+(?:\.[0-9]+){3}(?::[0-9]+|/[0-9]+)?|[1-9][0-9]*(?:ms|s|m|h))\z`)

// written is how the value of a setting stands after its key.
func (s Setting) written(value string) string {
	switch {
	case s.Kind == Secret:
		return quoted(value)
	case bareScalar.MatchString(value):
		return value
	}
	return quote(value)
}

// Items are those of a list as it is typed: with commas between them.
func Items(value string) []string {
	var out []string
	for one := range strings.SplitSeq(value, ",") {
		if one = strings.TrimSpace(one); one != "" {
			out = append(out, one)
		}
	}
	return out
}

// itemKey is the path of an item of a list.
func itemKey(key string, i int) string { return key + "[" + strconv.Itoa(i) + "]" }
