package guide

import (
	"slices"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
)

// planes returns machines of which the first runs a control plane and the second the load balancer.
func planes() []config.Machine {
	return []config.Machine{
		{Name: "m1", IP: "192.0.2.1", Roles: []bundle.Role{bundle.ControlPlane, bundle.Etcd}},
		{Name: "lb", IP: "192.0.2.2", Roles: []bundle.Role{bundle.LoadBalancer}},
	}
}

func TestFields_OwnFieldsStandAmongTheKeys(t *testing.T) {
	s := New()
	for step, want := range map[Step][]string{
		"cluster":  {"cluster-id", FileField},
		"login":    {KeepSecretsField, "eggo.bastion"},
		"networks": {BindPortField, "apiserver-cert-sans.dnsnames"},
	} {
		var keys []string
		for _, f := range s.Fields(step) {
			keys = append(keys, f.Key)
		}
		at := slices.Index(keys, want[0])
		if at < 0 || at+1 >= len(keys) || keys[at+1] != want[1] {
			t.Errorf("%s asks for %v, want %v one after the other", step, keys, want)
		}
	}
}

// A field that appears or changes when others do.
func TestField_FollowsTheDraft(t *testing.T) {
	s := New()
	of := func(step Step, key string) *Field {
		list := s.Fields(step)
		return list[slices.IndexFunc(list, func(f *Field) bool { return f.Key == key })]
	}
	if of("networks", BindPortField).Applies() || of("login", KeepSecretsField).Applies() {
		t.Error("a port without a load balancer, or passwords to keep without one")
	}
	s.OwnKeys = []string{"/root/.ssh/id_ed25519"}
	if got := of("login", "private-key-path").Effective(); got != s.OwnKeys[0] {
		t.Errorf("the key that is used is %q", got)
	}
	s.Draft.Set("password", "x")
	s.Draft.Machines = planes()
	if !of("networks", BindPortField).Applies() || !of("login", KeepSecretsField).Applies() {
		t.Error("no port with a load balancer, or no question with a password")
	}
	if got := of("login", "private-key-path").Effective(); got != "" {
		t.Errorf("with a password the key %q is used", got)
	}
	for want, change := range map[string]func(){
		"192.0.2.2:8443": func() {},
		"192.0.2.2:9443": func() { s.Draft.BindPort = "9443" },
		"192.0.2.1:6443": func() { s.Draft.Machines = planes()[:1] },
	} {
		s.Draft.Machines, s.Draft.BindPort = planes(), ""
		if change(); of("networks", "apiserver-endpoint").Default() != want {
			t.Errorf("the endpoint is %q, want %q", of("networks", "apiserver-endpoint").Default(), want)
		}
	}
}

func TestField_NormalizeKeepsSecrets(t *testing.T) {
	s := New()
	for key, want := range map[string]string{"service.cidr": "10.0.0.0/16", "password": " １０.0.0.0/16 ",
		"private-key-path": "１０.0.0.0/16"} {
		if got := s.Field(key).Normalize(" １０.0.0.0/16 "); got != want {
			t.Errorf("%s: %q, want %q", key, got, want)
		}
	}
}

func TestField_TurnGoesAround(t *testing.T) {
	f := New().Field("runtime")
	var seen []string
	for range f.Choices {
		f.Set(f.Turn(1))
		seen = append(seen, f.Value())
	}
	if f.Set(f.Turn(-1)); f.Value() != seen[len(seen)-2] || seen[len(seen)-1] != f.Choices[0] {
		t.Errorf("after %v: %s", seen, f.Value())
	}
}

// A default that is typed is no value of the machine.
func TestMachineFields_SetsTheMachine(t *testing.T) {
	s := New()
	s.Draft.Machines = planes()
	list := s.MachineFields(1)
	for i, value := range []string{"lb-1", "192.0.2.9", "22", "amd64"} {
		list[i].Set(value)
	}
	if m := s.Draft.Machines[1]; m.Name != "lb-1" || m.IP != "192.0.2.9" || m.Port != "" || m.Arch != "" {
		t.Errorf("%+v", m)
	}
	if bad, is := list[1].Check("192.0.2.300"); !is || bad.Code == "" {
		t.Error("an address that is none is valid")
	}
	s.Draft.Machines = nil
	if list[0].Set("x"); list[0].Value() != "" {
		t.Error("a machine that is gone has a name")
	}
}

// Every key has a meaning in both languages, for which keys without words of their own have the documentation's.
func TestHint_OfEveryKey(t *testing.T) {
	for _, lang := range []i18n.Lang{i18n.English, i18n.Chinese} {
		p := i18n.NewPrinter(lang)
		for _, x := range config.Settings() {
			if Hint(p, x.Key) == "" {
				t.Errorf("%s: no hint for %s", lang, x.Key)
			}
		}
	}
}

func TestBrief_FirstSentence(t *testing.T) {
	for text, want := range map[string]string{
		"how CoreDNS runs. `pod`: as pods": "How CoreDNS runs",
		"address of the cluster DNS":       "Address of the cluster DNS",
		"网络插件，其清单须在离线包中。`flannel` 已测试":     "网络插件，其清单须在离线包中",
	} {
		if got := Capital(brief(text)); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
