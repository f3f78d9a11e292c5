package upstream

import (
	"bytes"
	"compress/bzip2"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
)

// The shell of Debian's busybox runs its own commands in place of programs of the same name, and its children do not
// get variables with a dash in their names. Tests look for both, so busybox is compiled as its authors configure it.
const (
	busyboxVersion = "1.35.0"
	busyboxSource  = "debian/pool/main/b/busybox/busybox_" + busyboxVersion + ".orig.tar.bz2"
	busyboxSum     = "faeeb244c35a348a334f4a59e44626ee870fb07b6884d68c10ae8bc19f83a694"
	busyboxRecipe  = "busybox 1 " + busyboxVersion // changes what is made of it, too
)

// busyboxProgram is where busybox is in a cache directory.
func busyboxProgram(arch string) string {
	return filepath.Join("programs", "busybox-"+busyboxVersion, arch, "busybox")
}

// busyboxJob builds busybox.
func busyboxJob(arch string) job {
	return job{
		id: "busybox-" + busyboxVersion + "-" + arch, title: "busybox " + busyboxVersion + " " + arch,
		recipe: busyboxRecipe,
		run: func(ctx context.Context, b *builder) (made, error) {
			file := busyboxProgram(arch)
			program, err := b.compileBusybox(ctx, arch)
			if err != nil {
				return made{}, err
			}
			return made{files: []string{file}}, place(program, filepath.Join(b.dir, file))
		},
	}
}

// compileBusybox compiles busybox with the C compiler of the machine.
func (b *builder) compileBusybox(ctx context.Context, arch string) (string, error) {
	if arch != b.host {
		return "", fmt.Errorf("busybox can be compiled for the architecture of this machine only, which is %s", b.host)
	}
	for _, c := range []string{"gcc", "make", "tar"} {
		if _, err := exec.LookPath(c); err != nil {
			return "", fmt.Errorf("gcc, make, tar and libc6-dev are needed to compile busybox: %w", err)
		}
	}
	source, err := b.verified(ctx, busyboxSource, busyboxSum)
	if err != nil {
		return "", err
	}
	d := filepath.Join(b.tmp, "busybox")
	if err := os.Mkdir(d, 0o755); err != nil {
		return "", err
	}
	tar := exec.CommandContext(ctx, "tar", "-x", "--strip-components=1", "-C", d)
	tar.Stdin = bzip2.NewReader(bytes.NewReader(source))
	if err := b.run(ctx, tar); err != nil {
		return "", err
	}
	if err := b.makeRun(ctx, d, "defconfig"); err != nil {
		return "", err
	}
	file := filepath.Join(d, ".config")
	config, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	if config, err = staticConfig(config); err != nil {
		return "", err
	}
	if err := os.WriteFile(file, config, 0o644); err != nil {
		return "", err
	}
	return filepath.Join(d, "busybox"), b.makeRun(ctx, d, "busybox", "-j"+strconv.Itoa(runtime.GOMAXPROCS(0)))
}

// makeRun runs make. What the make that runs this program was told is not for it.
func (b *builder) makeRun(ctx context.Context, dir string, args ...string) error {
	cmd := exec.CommandContext(ctx, "make", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "MAKEFLAGS=", "LC_ALL=C", "PWD="+dir,
		"SOURCE_DATE_EPOCH="+strconv.FormatInt(suiteTime().Unix(), 10))
	return b.run(ctx, cmd)
}

// staticConfig changes the default configuration: no libraries, and no tc, which does not compile with the headers of
// new kernels.
func staticConfig(config []byte) ([]byte, error) {
	for option, line := range map[string]string{"CONFIG_STATIC": "CONFIG_STATIC=y",
		"CONFIG_TC": "# CONFIG_TC is not set"} {
		re := regexp.MustCompile(`(?m)^(# )?` + option + `(=.*| is not set)$`)
		if !re.Match(config) {
			return nil, fmt.Errorf("busybox has no option %s", option)
		}
		config = re.ReplaceAll(config, []byte(line))
	}
	return config, nil
}

// busybox is the compiled busybox with links for its commands in /bin.
func (b *builder) busybox(ctx context.Context, arch string) ([]member, error) {
	file := filepath.Join(b.dir, busyboxProgram(arch))
	list, err := exec.CommandContext(ctx, file, "--list").Output()
	if err != nil {
		return nil, fmt.Errorf("%s --list: %w", file, err)
	}
	out := []member{{name: "usr/bin/env", link: "/bin/busybox"}}
	for _, c := range strings.Fields(string(list)) {
		out = append(out, member{name: "bin/" + c, link: "busybox"})
	}
	return append(out, program("bin/busybox", file)), nil
}
