package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/test/e2e/stand"
	"github.com/eggo-k8s/eggo/test/lab"
)

// remade are Debian's names of what the rpm family calls otherwise.
var remade = map[string]string{"conntrack": "conntrack-tools"}

// wanted are the packages that a node of the rpm family installs, by Debian's names.
var wanted = []string{"containerd", "runc", "iptables", "nftables", "conntrack", "socat", "ethtool", "kmod"}

// fields of a Debian package.
func debField(t *testing.T, file, field string) string {
	t.Helper()
	return strings.TrimSpace(program(t, "dpkg-deb", "-f", file, field))
}

var notInVersion = regexp.MustCompile(`[^A-Za-z0-9.~+]+`)

// fromDebs makes rpms of the Debian packages in a bundle: those that a node of the rpm family lacks, with the same
// files, for its programs are Debian's. Units come with their package, and are neither enabled nor started by it, as in
// that family.
func (f *forge) fromDebs(t *testing.T, s *stand.Stand, node string) (dir string) {
	t.Helper()
	debs := t.TempDir()
	program(t, "tar", "-xzf", s.Bundle, "-C", debs, "--wildcards", "*.deb")
	files := map[string]string{}
	all, err := filepath.Glob(filepath.Join(debs, "*.deb"))
	must(t, "debs", err)
	for _, file := range all {
		files[debField(t, file, "Package")] = file
	}
	ask := func(line string) []string {
		out, err := s.Lab.Run(t.Context(), node, line)
		must(t, line, err)
		return strings.Fields(out)
	}
	base, dirs := ask("dpkg-query -W -f '${Package}\\n'"), ask("find / -xdev -type d")
	out := "node-" + uname(runtime.GOARCH)
	queue, done := slices.Clone(wanted), map[string]bool{}
	for len(queue) > 0 {
		name := queue[0]
		queue = queue[1:]
		if done[name] {
			continue
		}
		done[name] = true
		if files[name] == "" {
			t.Fatalf("the bundle has no %s", name)
		}
		var needs []string
		for alternative := range strings.SplitSeq(debField(t, files[name], "Pre-Depends")+","+debField(t, files[name],
			"Depends"), ",") {
			dep, _, _ := strings.Cut(strings.TrimSpace(alternative), " ")
			if dep, _, _ = strings.Cut(dep, ":"); dep != "" && !slices.Contains(base, dep) {
				needs, queue = append(needs, fmt.Sprintf("%s >= %s", rpmName(dep), rpmVersion(t, files[dep]))),
					append(queue, dep)
			}
		}
		f.fromDeb(t, files[name], name, out, needs, dirs)
	}
	return filepath.Join(f.dir, out)
}

func rpmName(deb string) string {
	if name := remade[deb]; name != "" {
		return name
	}
	return deb
}

// rpmVersion is a Debian package's as rpm takes it.
func rpmVersion(t *testing.T, deb string) string {
	t.Helper()
	version := debField(t, deb, "Version")
	if _, after, epoch := strings.Cut(version, ":"); epoch {
		version = after
	}
	return notInVersion.ReplaceAllString(version, ".")
}

// fromDeb makes one rpm; dirs are the directories that are the base system's.
func (f *forge) fromDeb(t *testing.T, deb, name, out string, needs, dirs []string) {
	t.Helper()
	top := t.TempDir()
	tree := filepath.Join(top, "tree")
	program(t, "dpkg-deb", "-x", deb, tree)
	program(t, "sh", "-c",
		`cd "$1" && rm -rf usr/share/doc usr/share/man usr/share/lintian usr/share/bash-completion && for d in bin sbin lib lib64; do [ ! -d $d ] || [ -L $d ] || { mkdir -p usr/$d && cp -a $d/. usr/$d/ && rm -rf $d; }; done
for l in iptables ip6tables iptables-save ip6tables-save iptables-restore ip6tables-restore; do [ ! -e usr/sbin/xtables-nft-multi ] || [ -e usr/sbin/$l ] || ln -s xtables-nft-multi usr/sbin/$l; done
find . -depth -type d -empty -delete`, "sh", tree)
	var list strings.Builder
	must(t, name, filepath.WalkDir(tree, func(path string, d os.DirEntry, err error) error {
		at := strings.TrimPrefix(path, tree)
		switch {
		case err != nil || at == "":
			return err
		case d.IsDir():
			if !slices.Contains(dirs, at) {
				fmt.Fprintf(&list, "%%dir %s\n", at)
			}
		case strings.HasPrefix(at, "/etc/"):
			fmt.Fprintf(&list, "%%config(noreplace) %s\n", at)
		default:
			fmt.Fprintln(&list, at)
		}
		return nil
	}))
	var spec strings.Builder
	fmt.Fprintf(&spec, "Name: %s\nVersion: %s\nRelease: 1\nSummary: of Debian\nLicense: various\nAutoReqProv: no\n",
		rpmName(name), rpmVersion(t, deb))
	for _, n := range needs {
		fmt.Fprintf(&spec, "Requires: %s\n", n)
	}
	fmt.Fprintf(&spec, "%%description\nOf Debian.\n%%install\nmkdir -p %%{buildroot}\ncp -a %s/. %%{buildroot}/\n",
		tree)
	if strings.HasPrefix(name, "lib") {
		spec.WriteString("%post -p /sbin/ldconfig\n%postun -p /sbin/ldconfig\n")
	}
	if name == "containerd" {
		spec.WriteString("%post\nsystemctl daemon-reload || :\n%postun\nsystemctl daemon-reload || :\n")
	}
	fmt.Fprintf(&spec, "%%files\n%%defattr(-,root,root)\n%s", list.String())
	file := filepath.Join(top, name+".spec")
	must(t, name, os.WriteFile(file, []byte(spec.String()), 0o644))
	program(t, "rpmbuild", "-bb", "--quiet", "--target", uname(runtime.GOARCH), "--define", "_topdir "+top, "--define",
		"_rpmdir "+filepath.Join(f.dir, out), "--define", "_rpmfilename %{NAME}-%{VERSION}-%{RELEASE}.%{ARCH}.rpm",
		"--define", "debug_package %{nil}", "--define", "__os_install_post %{nil}", "--define", "_build_id_links none",
		"--define", "_binary_payload w3.zstdio", file)
}

// rpmBundle packs all that a node of the rpm family needs.
func rpmBundle(t *testing.T, s *stand.Stand, node string) string {
	t.Helper()
	f := newForge(t)
	w := workshopOn(t, s)
	dir := f.fromDebs(t, s, node)
	// What the base system of a machine has, and the bundle too: the machine's own is left as it is.
	putRPM(t, s, node, headRPM(t, dir, "Name: base-system\nVersion: 1\nProvides: /bin/sh\nProvides: /sbin/ldconfig\n"))
	f.sign(t, dir, "vendor")
	f.publish(t, dir, "vendor")
	var names []string
	for _, n := range wanted {
		names = append(names, rpmName(n))
	}
	spec := w.spec(t, "families", func(doc map[string]any) {
		doc["os"] = map[string]any{"family": "rpm", "id": "openEuler", "release": "24.03"}
		doc["packages"] = map[string]any{"repositories": []any{map[string]any{"type": "rpm",
			"url": f.url + "/node-{uname}", "keyring": f.key}}}
		var list []any
		for _, n := range names {
			list = append(list, map[string]any{"name": n, "roles": []string{"control-plane", "worker"}})
		}
		doc["packages"].(map[string]any)["install"] = list
	})
	return filepath.Join(w.pack(t, spec, runtime.GOARCH), "families-"+runtime.GOARCH+".tar.gz")
}

// families is a stand of two machines, one of which is of the rpm family, with a bundle for each.
func families(t *testing.T, cluster, rpm string) (s *stand.Stand, file string) {
	t.Helper()
	s = newStand(t)
	ctx := t.Context()
	must(t, "build", s.Build(ctx))
	pack(t, s)
	t.Cleanup(func() {
		if err := s.Lab.Down(context.WithoutCancel(ctx), true); err != nil {
			t.Error(err)
		}
	})
	s.Lab.OfRPM(rpm)
	must(t, "lab", s.Lab.Up(ctx, 2))
	must(t, "old state", os.RemoveAll(s.State()))
	base, err := s.Deploy(cluster+"-debian.yaml", cluster,
		[]stand.Node{{Name: "n1", Roles: "mne"}, {Name: "n2", Roles: "n"}})
	must(t, "deploy.yaml", err)

	s.Say("== a bundle for one family is refused for the other, before anything is touched")
	got := try(t, s, 5, "deploy", "-f", base)
	if err := got.Has("preflight.os", rpm, "openEuler 24.03", "debian 12 (bookworm)"); err != nil {
		t.Errorf("%v:\n%s", err, tail(got.Out, 20))
	}
	file, err = s.Vary(base, cluster+".yaml", "eggo:\n", "eggo:\n  bundles: [\""+rpmBundle(t, s, rpm)+"\"]\n")
	must(t, "deploy.yaml", err)
	return s, file
}

// lives takes a cluster of two machines through its life: installed, used, installed in vain, removed without a trace.
func lives(t *testing.T, s *stand.Stand, cluster, file string, before []lab.Snapshot) {
	t.Helper()
	ctx := t.Context()
	try(t, s, 0, "deploy", "-f", file)
	must(t, "workload", s.StartWorkload(ctx))
	must(t, "use", s.Works(ctx, 2))

	s.Say("== second deploy changes nothing")
	try(t, s, 0, "deploy", "-f", file)
	noChange(t, s.State(), cluster)

	s.Say("== cleanup --purge leaves nothing")
	try(t, s, 0, "cleanup", "-f", file, "--yes", "--purge")
	same(t, before, func() []lab.Snapshot { return snapshots(t, s, 2) })
}

// headRPM makes an rpm with nothing in it but a head.
func headRPM(t *testing.T, dir, head string) string {
	t.Helper()
	spec := filepath.Join(t.TempDir(), "one.spec")
	must(t, "spec", os.WriteFile(spec, []byte(head+
		"Release: 1\nSummary: of a test\nLicense: MIT\nBuildArch: noarch\n%description\nOf a test.\n%files\n"), 0o644))
	program(t, "rpmbuild", "-bb", "--quiet", "--define", "_topdir "+t.TempDir(), "--define", "_rpmdir "+dir, "--define",
		"_rpmfilename %{NAME}-%{VERSION}-%{RELEASE}.%{ARCH}.rpm", spec)
	name, version := strings.Fields(head)[1], strings.Fields(head)[3]
	return filepath.Join(dir, name+"-"+version+"-1.noarch.rpm")
}

// putRPM installs an rpm on a node.
func putRPM(t *testing.T, s *stand.Stand, node, file string) {
	t.Helper()
	data, err := os.Open(file)
	must(t, "rpm", err)
	defer data.Close()
	c := s.Lab.SSH(t.Context(), node, "cat >/run/one.rpm && rpm -i --nosignature /run/one.rpm && rm /run/one.rpm")
	c.Stdin = data
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("rpm -i: %v\n%s", err, out)
	}
}

// TestFamilies is a cluster of a Debian control plane and a worker of the rpm family, each installed by its own package
// manager. dnf is killed in the middle of its transaction, and the next run goes on.
func TestFamilies(t *testing.T) {
	turn(t, 2)
	s, file := families(t, "families", "n2")
	ctx := t.Context()
	before := untouched(t, s, 2)

	s.Say("== nothing that is installed is upgraded")
	onNode := func(line string) {
		t.Helper()
		if out, err := s.Lab.Run(ctx, "n2", line); err != nil {
			t.Fatalf("%s: %v %s", line, err, out)
		}
	}
	putRPM(t, s, "n2", headRPM(t, t.TempDir(), "Name: libnftnl11\nVersion: 0.1\n"))
	got := try(t, s, 1, "deploy", "-f", file)
	if err := got.Has("packages.would-upgrade", "libnftnl11"); err != nil {
		t.Errorf("%v:\n%s", err, tail(got.Out, 20))
	}
	onNode("[ \"$(rpm -qa | sort | xargs)\" = 'base-system-1-1.noarch libnftnl11-0.1-1.noarch' ] && rpm -e libnftnl11")

	s.Say("== dnf is killed in the middle")
	r, err := s.Start(ctx, "", "deploy", "-f", file)
	must(t, "deploy", err)
	// By its process: the first packages are there, the last ones are not.
	killed := stand.Until(ctx, 2*time.Minute, "dnf works", func(ctx context.Context) error {
		out, err := s.Lab.Run(ctx, "n2", `for i in $(seq 400); do
  if [ -e /var/lib/eggo-node/dnf/begun ] && [ "$(rpm -qa | wc -l)" -gt 3 ]; then
    p=$(grep -lz -e eggo.includepkgs /proc/[0-9]*/cmdline 2>/dev/null | cut -d/ -f3 | while read -r p; do case $(cat /proc/$p/comm) in dnf*|python*) echo $p ;; esac; done | head -n 1)
    [ -z "$p" ] || { kill -9 $p; rpm -qa | wc -l; cat /var/lib/eggo-node/dnf/begun | wc -l; exit 0; }
  fi
  sleep 0.02
done
exit 1`)
		if err == nil {
			s.Say("dnf killed when %s packages (of these, begun with) were there",
				strings.Join(strings.Fields(out), " of "))
		}
		return err
	})
	must(t, "kill", r.Signal(syscall.SIGINT))
	got, err = r.Wait()
	must(t, "deploy", err)
	must(t, "kill of dnf", killed)
	s.Say("the deploy ended with %d after %s", got.Code, got.Took)
	lives(t, s, "families", file, before)
}

// TestFamiliesTheOtherWayRound has the control plane in the rpm family; before that, the machine has an older version
// of something that the bundle's packages need newer.
func TestFamiliesTheOtherWayRound(t *testing.T) {
	full(t)
	s, file := families(t, "turned", "n1")
	before := untouched(t, s, 2)
	lives(t, s, "turned", file, before)
}
