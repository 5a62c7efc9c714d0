# Reads which children there are: "start MARK", "group MARK ID", "end MARK". The
# input ends with the process that writes it: then it ends the children that are
# left, with what they started.
# $1 is the variable with their marks, $2 how many tenths of a second they have to
# end by themselves.
trap '' HUP INT QUIT TERM
marks= groups=
while read -r what mark group; do
	case $what in
	start) marks="$marks $mark" ;;
	group) groups="$groups $mark:$group" ;;
	end)
		left=
		for m in $marks; do [ "$m" = "$mark" ] || left="$left $m"; done
		marks=$left left=
		for g in $groups; do [ "${g%:*}" = "$mark" ] || left="$left $g"; done
		groups=$left
		;;
	esac
done
[ -n "$marks" ] || exit 0

send() { for g in $groups; do kill "$1" "-${g#*:}" && alive=yes; done 2>/dev/null; }
send -TERM
tries=0
while [ "$tries" -lt "$2" ]; do
	alive=
	send -0
	[ -n "$alive" ] || break
	sleep 0.1
	tries=$((tries + 1))
done
send -KILL

# Linux alone tells what others have in their environment and among their limits.
any=
for m in $marks; do any="$any${any:+|}$m"; done
for round in 1 2 3 4 5 6 7 8 9 10; do
	found=
	for file in $(
		grep -lsE "^Max file locks +($any) " /proc/[0-9]*/limits
		grep -lsE "$1=[0-9.]*($any)" /proc/[0-9]*/environ
	); do
		pid=${file#/proc/}
		kill -KILL "${pid%/*}" 2>/dev/null && found=yes
	done
	[ -n "$found" ] || break
done
