package phases

import (
	"fmt"
	"strings"
	"testing"
)

// A firewall may list hundreds of ports in one line: the last of them are open too.
func TestALongListOfPortsIsReadWhole(t *testing.T) {
	var ports strings.Builder
	for p := range 2000 {
		fmt.Fprintf(&ports, " %d/tcp", 20000+2*p)
	}
	f := parseFacts("firewalld=zone: public\nfirewalld=  ports:" + ports.String() + " 6443/tcp\n")
	if len(f.Firewalls) != 1 || len(f.Firewalls[0].Open) != 2001 {
		t.Fatalf("%d ports are open, want 2001", len(f.Firewalls[0].Open))
	}
}
