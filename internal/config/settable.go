package config

import (
	"maps"
	"slices"
	"strconv"
)

// Settable reports whether a request to the server, or a Cluster of the operator, may set a key of deploy.yaml. A run
// reads files and the environment as root, so a key that names a file or a password is not settable.
func Settable(key string) bool {
	k, is := theTable().find(key)
	return is && k.Settable
}

// SettableKeys returns the paths of all settable keys, in the order of the manual.
func SettableKeys() []string {
	var out []string
	for _, k := range theTable().keys {
		if k.Settable {
			out = append(out, k.Path)
		}
	}
	return out
}

// LocalLogin is a file of the control host, or a password, in the login of a machine or a bastion.
type LocalLogin struct {
	Key  string // the settable key that has it: eggo.bastion or eggo.machines
	Path string // of the value: eggo.machines.w1.private-key-path
}

// LocalLogins returns the files and the passwords in the logins of machines and bastions. These logins are settable,
// but they must have none. A password that a user is asked for ("prompt") is not among them.
func LocalLogins(c *Cluster) []LocalLogin {
	var out []LocalLogin
	check := func(key, at string, kv ...string) {
		for i := 0; i+1 < len(kv); i += 2 {
			if v := kv[i+1]; v != "" && v != "prompt" {
				out = append(out, LocalLogin{Key: key, Path: at + "." + kv[i]})
			}
		}
	}
	hops := func(key, at string, list []Bastion) {
		for i, b := range list {
			check(key, at+"["+strconv.Itoa(i)+"]", "private-key-path", b.PrivateKeyPath, "password", b.Password,
				"password-from", b.PasswordFrom)
		}
	}
	hops("eggo.bastion", "eggo.bastion", c.Eggo.Bastions)
	for _, name := range slices.Sorted(maps.Keys(c.Eggo.Machines)) {
		l, at := c.Eggo.Machines[name], "eggo.machines."+name
		check("eggo.machines", at, "private-key-path", l.PrivateKeyPath, "password", l.Password, "password-from",
			l.PasswordFrom, "sudo-password", l.SudoPassword, "sudo-password-from", l.SudoPasswordFrom)
		hops("eggo.machines", at+".bastion", l.Bastions)
	}
	return out
}
