#!/bin/sh
# port.sh LINK - qemu runs it, in the namespace of the switch, for the link that it has made: plugs it in, unless the cable is pulled.
ip link set "$1" master br0 && { [ -e cut ] || ip link set "$1" up; }
