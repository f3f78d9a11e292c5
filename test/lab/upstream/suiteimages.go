package upstream

import (
	"context"
	_ "embed"
	"path/filepath"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// The images that the tests of the end-to-end suite run. What is of Kubernetes is built from its sources; where
// upstream takes Alpine, these take Debian and a busybox of their own.

// suiteTime is that of images that are not of Kubernetes: what is in them has no release of its own.
func suiteTime() time.Time { return time.Date(2025, time.June, 1, 0, 0, 0, 0, time.UTC) }

const testImages = "registry.k8s.io/e2e-test-images/"

// suiteRecipes are the images of the suite that can be made.
func suiteRecipes() []imageRecipe {
	const shell = "s2 " + busyboxRecipe
	return []imageRecipe{
		{testImages + "agnhost:", "agnhost", shell, true, dockerTypes, suiteAgnhostImage},
		{testImages + "busybox:", "busybox", shell, false, dockerTypes, busyboxImage},
		{testImages + "httpd:", "httpd", shell, false, dockerTypes, httpdImage},
		{testImages + "nginx:", "nginx", shell, false, dockerTypes, nginxImage},
		{testImages + "jessie-dnsutils:", "dnsutils", shell, false, dockerTypes, dnsutilsImage},
		{testImages + "nonewprivs:", "nonewprivs", shell, true, dockerTypes, nonewprivsImage},
		{testImages + "sample-apiserver:", "sample API server", "s1", true, dockerTypes,
			sampleAPIServerImage},
		pictureRecipe("kitten", shell), pictureRecipe("nautilus", shell),
		{"registry.k8s.io/pause:", "pause", "2", false, dockerTypes, pauseImage},
		{"registry.k8s.io/etcd:", "etcd", "1", false, dockerTypes, etcdImage},
	}
}

// suiteAgnhostImage has what the Dockerfile of upstream has: agnhostImage, which bundles are packed with, has less.
func suiteAgnhostImage(ctx context.Context, b *builder, _, arch string) (platformImage, error) {
	img, _, err := b.suiteAgnhost(ctx, arch)
	return img, err
}

func (b *builder) suiteAgnhost(ctx context.Context, arch string) (platformImage, published, error) {
	programs, p, err := b.agnhost(ctx, arch)
	if err != nil {
		return platformImage{}, p, err
	}
	for _, f := range []string{"localhost.crt", "localhost.key"} {
		programs = append(programs, member{name: f, mode: 0o644,
			source: filepath.Join(p.Dir, "test", "images", "agnhost", "porter", f)})
	}
	user, err := b.shellUserland(ctx, arch, userland{
		packages: []string{"bash", "curl", "iproute2", "bind9-dnsutils", "libc-bin", "netcat-openbsd"},
		programs: []string{"bin/bash", "usr/bin/curl", "bin/ip", "bin/ss", "usr/bin/dig", "usr/bin/nslookup",
			"usr/bin/getent", "bin/nc.openbsd"},
	})
	if err != nil {
		return platformImage{}, p, err
	}
	user = append(append(user, agnhostFiles()...), member{name: "bin/nc", link: "nc.openbsd"})
	return platformImage{
		arch: arch, created: p.Time,
		layers: []imageLayer{{"RUN bash, busybox, curl, dig, iproute2, netcat", user},
			{"ADD agnhost agnhost", programs}},
		config: agnhostConfig(),
	}, p, nil
}

// pictureRecipe makes an image that serves a picture of an animal: agnhost with two files.
func pictureRecipe(name, recipe string) imageRecipe {
	return imageRecipe{testImages + name + ":", name, recipe, true, dockerTypes,
		func(ctx context.Context, b *builder, _, arch string) (platformImage, error) {
			img, p, err := b.suiteAgnhost(ctx, arch)
			if err != nil {
				return img, err
			}
			var files []member
			for _, f := range []string{name + ".jpg", "data.json"} {
				files = append(files, member{name: f, mode: 0o644,
					source: filepath.Join(p.Dir, "test", "images", name, "html", f)})
			}
			img.layers = append(img.layers, imageLayer{"COPY html/" + name + ".jpg html/data.json", files})
			img.config.Cmd = []string{"test-webserver"}
			return img, nil
		}}
}

func busyboxImage(ctx context.Context, b *builder, tag, arch string) (platformImage, error) {
	user, err := b.shellUserland(ctx, arch, userland{})
	return debianImage("busybox", tag, arch, user, v1.Config{Cmd: []string{"sh"}}), err
}

func dnsutilsImage(ctx context.Context, b *builder, tag, arch string) (platformImage, error) {
	user, err := b.shellUserland(ctx, arch, userland{
		packages: []string{"bash", "bind9-dnsutils", "libc-bin"},
		programs: []string{"bin/bash", "usr/bin/dig", "usr/bin/nslookup", "usr/bin/getent"},
	})
	return debianImage("dnsutils", tag, arch, user, v1.Config{Cmd: []string{"/bin/bash"}}), err
}

// debianImage is an image of packages alone. Tests have pods go from one tag to another, so it is not the same image
// under both.
func debianImage(what, tag, arch string, members []member, config v1.Config) platformImage {
	config.Env = append(config.Env, searchPath)
	config.Labels = map[string]string{"org.opencontainers.image.version": tag}
	return platformImage{arch: arch, created: suiteTime(), layers: []imageLayer{{"RUN " + what, members}},
		config: config}
}

var (
	//go:embed programs/httpd/httpd.conf
	httpdConf []byte
	//go:embed programs/httpd/httpd-foreground
	httpdForeground []byte
	//go:embed programs/nginx/nginx.conf
	nginxConf []byte
)

const itWorks = "<html><body><h1>It works!</h1></body></html>\n"

func httpdImage(ctx context.Context, b *builder, tag, arch string) (platformImage, error) {
	const dir, modules = "usr/local/apache2", "usr/lib/apache2/modules/mod_"
	user, err := b.shellUserland(ctx, arch, userland{packages: []string{"apache2-bin"},
		programs: []string{"usr/sbin/apache2", modules + "mpm_event.so", modules + "authz_core.so",
			modules + "dir.so"}})
	user = append(user,
		member{name: dir + "/conf/httpd.conf", mode: 0o644, data: httpdConf},
		member{name: dir + "/htdocs/index.html", mode: 0o644, data: []byte(itWorks)},
		member{name: dir + "/logs", dir: true}, member{name: dir + "/bin/httpd", link: "/usr/sbin/apache2"},
		member{name: "usr/local/bin/httpd-foreground", mode: 0o755, data: httpdForeground})
	img := debianImage("httpd", tag, arch, user, v1.Config{Cmd: []string{"httpd-foreground"}, WorkingDir: "/" + dir,
		ExposedPorts: map[string]struct{}{"80/tcp": {}}, StopSignal: "SIGWINCH"})
	img.config.Env = []string{strings.Replace(searchPath, "=", "=/"+dir+"/bin:", 1)}
	return img, err
}

func nginxImage(ctx context.Context, b *builder, tag, arch string) (platformImage, error) {
	user, err := b.shellUserland(ctx, arch, userland{packages: []string{"nginx"},
		programs: []string{"usr/sbin/nginx"}})
	user = append(user,
		member{name: "etc/nginx/nginx.conf", mode: 0o644, data: nginxConf},
		member{name: "usr/share/nginx/html/index.html", mode: 0o644, data: []byte(itWorks)},
		member{name: "var/lib/nginx", dir: true}, member{name: "var/log/nginx/error.log", link: "/dev/stderr"})
	return debianImage("nginx", tag, arch, user, v1.Config{Cmd: []string{"nginx", "-g", "daemon off;"},
		ExposedPorts: map[string]struct{}{"80/tcp": {}}, StopSignal: "SIGQUIT"}), err
}

// nonewprivsImage has a program that says as whom it runs, and runs as root whoever starts it.
func nonewprivsImage(ctx context.Context, b *builder, _, arch string) (platformImage, error) {
	m, released, err := b.kubernetesModule(ctx, b.spec.toolsVersion())
	if err != nil {
		return platformImage{}, err
	}
	out := b.output("nnp", arch)
	m.name = "nonewprivs-" + b.spec.toolsVersion()
	if err := b.goBuild(ctx, m, arch, out, "", "k8s.io/kubernetes/test/images/nonewprivs"); err != nil {
		return platformImage{}, err
	}
	user, err := b.shellUserland(ctx, arch, userland{})
	nnp := program("usr/local/bin/nnp", out)
	nnp.mode = 0o6755
	return platformImage{
		arch: arch, created: released,
		layers: []imageLayer{{"RUN busybox", user}, {"COPY nnp /usr/local/bin/nnp", []member{nnp}}},
		config: v1.Config{Cmd: []string{"nnp"}, Env: []string{searchPath}},
	}, err
}

// sampleAPIServerImage is of the version of Kubernetes. Upstream's is of an earlier one, whose sources are not on the
// module proxy.
func sampleAPIServerImage(ctx context.Context, b *builder, _, arch string) (platformImage, error) {
	m, released, err := b.kubernetesModule(ctx, b.spec.toolsVersion())
	if err != nil {
		return platformImage{}, err
	}
	out := b.output("sample-apiserver", arch)
	m.name = "sample-apiserver-" + b.spec.toolsVersion()
	if err := b.goBuild(ctx, m, arch, out, "", "k8s.io/sample-apiserver"); err != nil {
		return platformImage{}, err
	}
	return platformImage{
		arch: arch, created: released,
		layers: []imageLayer{{"COPY users", usersOfImage()},
			{"ADD sample-apiserver /sample-apiserver", []member{program("sample-apiserver", out)}}},
		config: v1.Config{Entrypoint: []string{"/sample-apiserver"}, Env: []string{searchPath}},
	}, nil
}

// userland is what an image has beside busybox: programs of packages, also in place of commands of busybox.
type userland struct{ packages, programs []string }

// shellUserland has busybox, with its shell as sh.
func (b *builder) shellUserland(ctx context.Context, arch string, u userland) ([]member, error) {
	tree, err := b.userland(ctx, arch, append([]string{"netbase"}, u.packages...)...)
	if err != nil {
		return nil, err
	}
	programs := u.programs
	if len(programs) > 0 { // the C library opens it when a thread ends
		programs = append(programs, "lib/"+triplet(arch)+"/libgcc_s.so.1")
	}
	out, err := tree.pick(arch, programs, []string{"etc/protocols", "etc/services"})
	if err != nil {
		return nil, err
	}
	busy, err := b.busybox(ctx, arch)
	return append(append(busy, out...), shellFiles()...), err
}

// shellFiles are the directories and the users of an image with a shell.
func shellFiles() []member {
	out := []member{
		{name: "etc/nsswitch.conf", mode: 0o644, data: []byte("hosts: files dns\n")},
		{name: "etc/passwd", mode: 0o644, data: []byte("root:x:0:0:root:/root:/bin/sh\n" +
			"www-data:x:33:33:www-data:/var/www:/bin/false\nnobody:x:65534:65534:nobody:/home:/bin/false\n")},
		{name: "etc/group", mode: 0o644, data: []byte("root:x:0:\nwww-data:x:33:\nnogroup:x:65534:\n")},
		{name: "tmp", dir: true, mode: 0o1777}, {name: "var/tmp", dir: true, mode: 0o1777},
		{name: "root", dir: true, mode: 0o700},
	}
	for _, d := range []string{"home", "run", "usr/sbin", "sbin", "var/www", "usr/local/bin"} {
		out = append(out, member{name: d, dir: true})
	}
	return out
}
