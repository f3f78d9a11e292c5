package config

import (
	"net/netip"
	"testing"
)

// A range has an address in every spelling, and a name is none.
func TestAddressesInEverySpelling(t *testing.T) {
	own := Addresses{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128"),
		netip.MustParsePrefix("192.0.2.7/32"), netip.MustParsePrefix("fe80::/10")}
	for host, want := range map[string]bool{
		"127.0.0.1": true, "127.9.8.7": true, "::1": true, "::ffff:127.0.0.1": true, "::FFFF:7f00:1": true,
		"0:0:0:0:0:ffff:127.0.0.1": true, "127.1": true, "127.0.1": true, "2130706433": true, "0x7f000001": true,
		"0x7F.1": true, "0177.0.0.1": true, "017700000001": true, "127.0.0.1.": true, "[::1]": true, "::1%lo": true,
		"[fe80::1%eth0]": true, "localhost": true, "LocalHost.": true, "localhost.localdomain": true,
		"a.localhost": true, "ip6-localhost": true, "192.0.2.7": true, "192.0.519": true, "3221225991": true,
		"::ffff:192.0.2.7": true, "0300.0.2.7": true, "0xc0.0.0x2.7": true, "0x7f.0xb": true,
		"64:ff9b::127.0.0.1": true, "64:ff9b::c000:207": true, "64:ff9b:1::192.0.2.7": true, "::ffff:0:192.0.2.7": true,
		"2002:c000:207::1": true, "64:ff9b::192.0.2.8": false, "2002:c000:208::1": false, "2002:1::127.0.0.1": false,
		"192.0.2.8": false, "bastion.example": false, "127.example": false, "1.2.3.4.5": false, "": false,
		"4294967296": false, "1.256.1": false, "-1": false, "+1": false, "1_0": false, "0xc000020b": false,
		"0b1":               false,
		"localhost.example": false,
		"2001:db8::1":       false,
	} {
		if got := own.HasHost(host); got != want {
			t.Errorf("%q: %v, want %v", host, got, want)
		}
	}
	if own.Has(netip.MustParseAddr("::ffff:127.0.0.1")) != true || Addresses(nil).HasHost("127.0.0.1") {
		t.Error("mapped, or no ranges")
	}
}
