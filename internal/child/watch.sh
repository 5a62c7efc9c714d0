# Reads which process groups there are. The input ends with the process that
# writes it: then it ends them, and what they started elsewhere.
# $1 is the variable that marks their processes, $2 how the marks begin, $3 how
# many tenths of a second they have to end by themselves.
trap '' HUP INT QUIT TERM
groups=
while read -r what group; do
	case $what in
	start) groups="$groups $group" ;;
	end)
		left=
		for g in $groups; do [ "$g" = "$group" ] || left="$left $g"; done
		groups=$left
		;;
	esac
done
[ -n "$groups" ] || exit 0

for g in $groups; do kill -TERM "-$g"; done 2>/dev/null
tries=0
while [ "$tries" -lt "$3" ]; do
	alive=
	for g in $groups; do kill -0 "-$g" && alive=yes; done 2>/dev/null
	[ -n "$alive" ] || break
	sleep 0.1
	tries=$((tries + 1))
done
for g in $groups; do kill -KILL "-$g"; done 2>/dev/null

# Linux alone tells what others have in their environment and among their limits.
for round in 1 2 3 4 5 6 7 8 9 10; do
	found=
	for file in $(
		grep -lsE "^Max file locks +$2[0-9]{8} " /proc/[0-9]*/limits
		grep -lsE "$1=[0-9.]*$2[0-9]{8}" /proc/[0-9]*/environ
	); do
		pid=${file#/proc/}
		kill -KILL "${pid%/*}" 2>/dev/null && found=yes
	done
	[ -n "$found" ] || break
done
