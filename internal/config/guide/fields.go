package guide

import (
	"cmp"
	"net"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/output/plaintext"
)

// Field is one value that a step asks for: a key of deploy.yaml, or a value that only the wizard has.
type Field struct {
	Key     string // of deploy.yaml, or of the wizard; its texts are found by it
	Kind    config.Kind
	Choices []string // one of them is picked, the first is the default; nil: the value is typed

	get     func() string
	set     func(string)
	usual   func() string                       // nil: there is no default
	applies func() bool                         // nil: always
	check   func(string) (config.Problem, bool) // nil: all values are valid
}

// Value returns what was entered; "" if nothing was.
func (f *Field) Value() string { return f.get() }

// Set enters a value; "" restores the default.
func (f *Field) Set(value string) { f.set(value) }

// Default returns the value that holds while nothing is entered; "" if there is none.
func (f *Field) Default() string {
	if f.usual == nil {
		return ""
	}
	return f.usual()
}

// Effective returns the value that holds: what was entered, or the default.
func (f *Field) Effective() string {
	if v := f.Value(); v != "" {
		return v
	}
	return f.Default()
}

// Applies reports whether the field is shown, given the other values.
func (f *Field) Applies() bool { return f.applies == nil || f.applies() }

// Picks reports whether the value is picked from Choices, not typed.
func (f *Field) Picks() bool { return len(f.Choices) > 0 }

// Narrow reports whether full-width characters are typed in their ASCII form: in addresses, names and numbers, but not
// in paths, secrets and YAML.
func (f *Field) Narrow() bool {
	return f.Kind != config.Path && f.Kind != config.Secret && f.Kind != config.Block
}

// Normalize returns a typed text as the value that it stands for.
func (f *Field) Normalize(text string) string {
	if f.Kind == config.Secret {
		return text
	}
	if f.Narrow() {
		text = plaintext.Narrow(text)
	}
	return strings.TrimSpace(text)
}

// Check returns the problem of a value by itself, if it has one.
func (f *Field) Check(value string) (config.Problem, bool) {
	if f.check == nil {
		return config.Problem{}, false
	}
	return f.check(value)
}

// Turn returns the choice that is n places after the one that holds, around the end.
func (f *Field) Turn(n int) string {
	k := len(f.Choices)
	return f.Choices[((slices.Index(f.Choices, f.Effective())+n)%k+k)%k]
}

// Label returns the name of the field; a key that has no name is its own.
func (f *Field) Label(p *i18n.Printer) string { return Label(p, f.Key) }

// Word returns a value in words, if there are some for it.
func (f *Field) Word(p *i18n.Printer, value string) string {
	if f.Picks() && p.Has("wizard.value."+value) {
		return p.T("wizard.value." + value)
	}
	return value
}

// Label returns the name of a key; a key that has none is its own.
func Label(p *i18n.Printer, key string) string {
	if k := "wizard.field." + key; p.Has(k) {
		return p.T(k)
	}
	return key
}

// Hint returns what a key means: in the words of the wizard, of the template, or in the first sentence of the
// documentation.
func Hint(p *i18n.Printer, key string) string {
	for _, k := range []string{"wizard.hint." + key, "template." + key} {
		if p.Has(k) {
			return p.T(k)
		}
	}
	if p.Has("key." + key) {
		return brief(p.T("key." + key))
	}
	return ""
}

// brief returns the first sentence of the documentation, without its Markdown.
func brief(text string) string {
	text = strings.ReplaceAll(text, "`", "")
	for _, end := range []string{". ", "。"} {
		text, _, _ = strings.Cut(text, end)
	}
	return strings.TrimSuffix(text, ".")
}

// Capital returns a text with a capital letter at its beginning, for front ends that show hints as sentences.
func Capital(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	if size == 0 {
		return ""
	}
	return string(unicode.ToUpper(first)) + text[size:]
}

// Keys of the fields that are no keys of deploy.yaml.
const (
	FileField        = "file"         // path of deploy.yaml
	KeepSecretsField = "keep-secrets" // whether passwords are written to deploy.yaml
	BindPortField    = "bind-port"    // of the load balancer
)

// extraField is a field of the wizard that is no key of deploy.yaml, with its place.
type extraField struct {
	step   Step
	before string // the key before which it stands; "" is the end
	Field
}

// extraFields returns the fields that are no keys of deploy.yaml.
func (s *Session) extraFields() []extraField {
	return []extraField{
		{ClusterStep, "", Field{Key: FileField, Kind: config.Path, usual: s.Target,
			get: func() string { return s.File }, set: func(v string) { s.File = v }}},
		{LoginStep, "eggo.bastion", Field{Key: KeepSecretsField, Kind: config.YesNo, Choices: yesNo(),
			get: func() string { return strconv.FormatBool(s.Draft.KeepSecrets) },
			set: func(v string) { s.Draft.KeepSecrets = v == "true" },
			applies: func() bool {
				return s.Draft.Value("password") != "" || s.Draft.Value("eggo.sudo-password") != ""
			}}},
		{NetworksStep, "apiserver-cert-sans.dnsnames", Field{Key: BindPortField, Kind: config.Number,
			get: func() string { return s.Draft.BindPort }, set: func(v string) { s.Draft.BindPort = v },
			usual:   func() string { return bindPort(config.Draft{}) },
			applies: func() bool { return len(s.Draft.With(bundle.LoadBalancer)) > 0 }}},
	}
}

// bindPort returns the port of the load balancer.
func bindPort(d config.Draft) string { return cmp.Or(d.BindPort, config.BalancerPort) }

func yesNo() []string { return []string{"false", "true"} }

// Fields returns the fields of a step, in order.
func (s *Session) Fields(step Step) []*Field {
	if s.Joins() && step == LoginStep { // everything else is in the cluster's deploy.yaml
		return []*Field{s.Field("password")}
	}
	var out []*Field
	for _, x := range config.SettingsOf(string(step)) {
		out = append(out, s.field(x))
	}
	for _, x := range s.extraFields() {
		if x.step != step {
			continue
		}
		at := slices.IndexFunc(out, func(f *Field) bool { return f.Key == x.before })
		if at < 0 {
			at = len(out)
		}
		out = slices.Insert(out, at, &x.Field)
	}
	return out
}

// All returns the fields of all keys of deploy.yaml, in the order of the file.
func (s *Session) All() []*Field {
	var out []*Field
	for _, x := range config.Settings() {
		out = append(out, s.field(x))
	}
	return out
}

// Field returns the field of a key of deploy.yaml.
func (s *Session) Field(key string) *Field {
	x, _ := config.SettingOf(key)
	x.Key = key
	return s.field(x)
}

func (s *Session) field(x config.Setting) *Field {
	f := &Field{Key: x.Key, Kind: x.Kind, Choices: x.Choices,
		get:   func() string { return s.Draft.Value(x.Key) },
		set:   func(v string) { s.Draft.Set(x.Key, v) },
		usual: func() string { return s.usualOf(x) },
		check: func(v string) (config.Problem, bool) { return config.CheckValue(x.Key, v) }}
	if x.Kind == config.YesNo {
		f.Choices = yesNo()
	}
	if x.Applies != nil {
		f.applies = func() bool { return x.Applies(s.Draft.Get) }
	}
	return f
}

// usualOf returns the default of a setting; of some it follows from other values.
func (s *Session) usualOf(x config.Setting) string {
	switch x.Key {
	case "private-key-path":
		if s.Draft.Value("password") == "" && len(s.OwnKeys) > 0 {
			return s.OwnKeys[0]
		}
		return ""
	case "apiserver-endpoint":
		return s.endpoint()
	case "service.dnsaddr":
		if s.Cluster != nil {
			return s.Cluster.DNSAddr.String()
		}
		return ""
	}
	return x.Default
}

// endpoint returns where the API is reached if nothing else is entered.
func (s *Session) endpoint() string {
	d := s.Draft
	if s.Cluster != nil && d.Value("apiserver-endpoint") == "" {
		return s.Cluster.Endpoint
	}
	if lb := d.With(bundle.LoadBalancer); len(lb) > 0 {
		return net.JoinHostPort(d.Machines[lb[0]].IP, bindPort(d))
	}
	if m := d.With(bundle.ControlPlane); len(m) > 0 {
		return net.JoinHostPort(d.Machines[m[0]].IP, config.APIPort)
	}
	return ""
}

// MachineFields returns the fields of a machine of the draft.
func (s *Session) MachineFields(i int) []*Field {
	field := func(name, usual string, at func(*config.Machine) *string, choices ...string) *Field {
		return &Field{Key: "machine." + name, Kind: config.Text, Choices: choices,
			usual: func() string { return usual },
			get: func() string {
				if i >= len(s.Draft.Machines) {
					return ""
				}
				return *at(&s.Draft.Machines[i])
			},
			set: func(v string) {
				if v == usual {
					v = ""
				}
				if i < len(s.Draft.Machines) {
					*at(&s.Draft.Machines[i]) = v
				}
			},
			check: func(v string) (config.Problem, bool) {
				if v == "" {
					return config.Problem{}, false
				}
				return config.CheckMachine(name, v)
			}}
	}
	return []*Field{
		field("name", "", func(m *config.Machine) *string { return &m.Name }),
		field("ip", "", func(m *config.Machine) *string { return &m.IP }),
		field("port", "22", func(m *config.Machine) *string { return &m.Port }),
		field("arch", "amd64", func(m *config.Machine) *string { return &m.Arch }, "amd64", "arm64"),
	}
}
