# emulate.sh MACHINE COMMAND... - runs the command where programs of a foreign machine (aarch64, x86_64) run under qemu's user emulation. It
# is started in a mount namespace of its own. The kernel forgets what is registered when nobody has binfmt_misc mounted any more: so the
# registration goes with the last process of the command, by whatever means that ends. One that this machine has already is left as it is.
machine=$1
shift
dir=/proc/sys/fs/binfmt_misc
[ -e $dir/register ] || mount -t binfmt_misc none $dir || exit 1
[ -e "$dir/qemu-$machine" ] || cat "/usr/lib/binfmt.d/qemu-$machine.conf" >$dir/register || [ -e "$dir/qemu-$machine" ] || exit 1
exec "$@"
