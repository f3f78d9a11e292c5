package config

import (
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// A machine has the login of its draft, whatever is wrong elsewhere, and the roles that it was given.
func TestAMachineAlone(t *testing.T) {
	d := Draft{KeepSecrets: true}.WithValues(map[string]string{
		"cluster-id": "prod", "username": "ops", "password": "secret", "service.cidr": "nonsense",
		"runtime": "nonsense",
	})
	m := Machine{Name: "a b", IP: "192.0.2.1", Port: "2222", Roles: []bundle.Role{bundle.Worker}}
	c, n, err := d.Alone(m, "deploy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if c.Name != "prod" || c.SSH.User != "ops" || c.SSH.Password != "secret" {
		t.Errorf("%+v", c)
	}
	if n.IP.String() != m.IP || n.Port != 2222 || len(n.Roles) != 1 || n.Roles[0] != bundle.Worker {
		t.Errorf("%+v", n)
	}
	m.IP = "nowhere"
	if _, _, err := d.Alone(m, "deploy.yaml"); event.AsFault(err) == nil {
		t.Error(err)
	}
}
