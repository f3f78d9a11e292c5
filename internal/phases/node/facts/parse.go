package facts

import (
	"cmp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// What a node says of itself is bounded, in bytes: in all, and a line of it. A line of a firewall may be a long list,
// which is read to its end; of the others each is one value.
const (
	factsMost    = 1 << 20
	factsMostOne = 64 << 10
)

// Parse reads what the script printed.
func Parse(out string) *Facts {
	var release strings.Builder
	f := &Facts{Listening: map[int]string{}, Free: map[string]FreeSpace{}}
	keys := f.keys()
	keys["os"] = func(v string) { release.WriteString(v + "\n") }
	for line := range strings.Lines(out[:min(len(out), factsMost)]) {
		k, v, _ := strings.Cut(strings.TrimRight(line, "\n"), "=")
		most := event.MaxArg
		if k == "firewalld" || k == "ufw" {
			most = factsMostOne
		}
		if read := keys[k]; read != nil {
			read(event.Clip(v, most))
		}
	}
	f.OS = ParseOSRelease(release.String())
	sort.Strings(f.Present)
	slices.Sort(f.KubeletDropIns)
	f.KubeletDropIns = slices.Compact(f.KubeletDropIns)
	return f
}

// keys are the keys of the script's lines, each with what reads its value.
func (f *Facts) keys() map[string]func(string) {
	text := func(to *string) func(string) { return func(v string) { *to = v } }
	flag := func(to *bool) func(string) { return func(string) { *to = true } }
	list := func(to *[]string) func(string) { return func(v string) { *to = append(*to, v) } }
	firewall := func(name string) func(string) { return func(v string) { f.firewall(name).read(v) } }
	return map[string]func(string){
		"active":         list(&f.Active),
		"address":        list(&f.Addresses),
		"apparmor":       flag(&f.AppArmor),
		"arch":           f.readArch,
		"ca":             text(&f.CA),
		"caps":           func(v string) { f.Caps, _ = strconv.ParseUint(v, 16, 64) },
		"cgroup2":        flag(&f.Cgroup2),
		"cluster":        text(&f.Cluster),
		"conntrack":      flag(&f.Conntrack),
		"cpus":           func(v string) { f.CPUs, _ = strconv.Atoi(v) },
		"dnstaken":       text(&f.DNSTaken),
		"dockerjson":     flag(&f.DockerJSON),
		"etcdca":         text(&f.EtcdCA),
		"firewalld":      firewall("firewalld"),
		"free":           f.readFree,
		"hostname":       text(&f.Hostname),
		"joined":         flag(&f.Joined),
		"cgroupfs":       flag(&f.CgroupFS),
		"theirunit":      list(&f.TheirUnits),
		"kernel":         text(&f.Kernel),
		"kubeletdropin":  list(&f.KubeletDropIns),
		"kubelet":        func(v string) { f.Kubelet = strings.TrimPrefix(v, "Kubernetes ") },
		"listen":         f.readListen,
		"nomanifest":     list(&f.NoManifest),
		"machineid":      text(&f.MachineID),
		"memory":         func(v string) { f.Memory, _ = strconv.ParseInt(v, 10, 64) },
		"missing":        list(&f.Missing),
		"nameserver":     flag(&f.Nameserver),
		"nftables":       firewall("nftables"),
		"nginx":          flag(&f.Nginx),
		"nodename":       text(&f.NodeName),
		"noexectmp":      flag(&f.NoExecTmp),
		"noipset":        flag(&f.NoIPSet),
		"noipsetprogram": flag(&f.NoIPSetProgram),
		"noipvs":         flag(&f.NoIPVS),
		"noroute":        flag(&f.NoRoute),
		"ownruntime":     list(&f.OwnRuntimes),
		"owner":          func(v string) { f.Owner = node.ParseOwner([]byte(v)) },
		"pkg":            list(&f.PkgManagers),
		"present":        list(&f.Present),
		"recorded":       flag(&f.Recorded),
		"recordformat":   func(v string) { f.RecordFormat = cmp.Or(f.RecordFormat, v) },
		"recordkind":     list(&f.RecordKinds),
		"resolv":         text(&f.Resolv),
		"resolves":       text(&f.Resolves),
		"runtime":        list(&f.Runtimes),
		"selinux":        flag(&f.SELinux),
		"swap":           flag(&f.Swap),
		"systemd":        flag(&f.Systemd),
		"took":           f.readTook,
		"ufw":            firewall("ufw"),
		"version":        f.readVersion,
	}
}

// readArch reads the machine's architecture: Go's name of it where we have it.
func (f *Facts) readArch(v string) {
	f.Arch = cmp.Or(map[string]string{"x86_64": "amd64", "aarch64": "arm64"}[v], v)
}

// readTook reads how long the first part of the script took, in hundredths of a second.
func (f *Facts) readTook(v string) {
	if n, err := strconv.Atoi(v); err == nil && n >= 0 {
		f.Took = time.Duration(n) * 10 * time.Millisecond
	}
}

// readListen reads a port and who listens there.
func (f *Facts) readListen(v string) {
	p, who, _ := strings.Cut(v, " ")
	if port, err := strconv.Atoi(p); err == nil {
		f.Listening[port] = who
	}
}

// readFree reads a path, its device and the bytes that are free there.
func (f *Facts) readFree(v string) {
	if w := strings.Fields(v); len(w) == 3 {
		n, _ := strconv.ParseInt(w[2], 10, 64)
		f.Free[w[0]] = FreeSpace{Device: w[1], Bytes: n}
	}
}

// readVersion reads the path of a binary that lies in the directory of its version.
func (f *Facts) readVersion(v string) {
	if version := node.VersionOf(v); version != "" {
		f.Versions = append(f.Versions, version)
	}
}
