#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Fails when the texts name what is not there, or a recipe cannot be read:
#
#   links      a relative link of a page in Markdown to a file, or to a heading of a page, that does not exist
#   pages      a page of docs that no table of contents names
#   versions   CITATION.cff, the RPM spec, the easyconfig and ./version differ
#   addresses  the easyconfig differs from packaging/maintainer, or a placeholder is elsewhere
#   recipes    what rpmspec, luac and cffconvert refuse, each if it is installed
set -u
export LC_ALL=C

src=${FS_SRCDIR:-$(cd "$(dirname "$0")/.." && pwd)}
cd "$src" || exit 99
failed=0

complain() {
    echo "check_docs: $*" >&2
    failed=1
}

# FILE: its headings as Markdown viewers name them.
anchors() {
    sed -n 's/^##* //p' "$1" | tr 'A-Z ' 'a-z-' | tr -cd 'a-z0-9_\n-'
}

# ---- links and pages ----

for page in *.md docs/*.md packaging/*.md packaging/*/*.md; do
    # ](TARGET), but for code in backquotes
    # shellcheck disable=SC2013,SC2016 # words; no expansion
    for target in $(sed 's/`[^`]*`//g' "$page" | grep -oE '\]\([^)[:space:]]+\)' | sed 's/^](//; s/)$//' | sort -u); do
        file=$(dirname "$page")/${target%%#*}
        case $target in
        http:* | https:* | mailto:*) continue ;;
        \#*) file=$page ;;
        esac
        case $file in
        docs/rotation.svg | docs/fastsched.svg) continue ;; # the page's own commands make them
        esac
        [ -e "$file" ] || complain "$page: there is no $target"
        case $target in
        *.md\#* | \#*) anchors "$file" | grep -qx -e "${target#*#}" || complain "$page: no heading for $target" ;;
        esac
    done
done
for page in docs/*.md; do
    name=$(basename "$page" .md)
    [ "$name" = index ] || grep -qx "$name" docs/index.md || complain "docs/index.md does not name $name"
done

# ---- recipes ----

version=$(sed -n 's/^version=\([0-9.]*\)$/\1/p' version)
[ -n "$version" ] || complain 'version has no version'
has_version() {
    grep -qE "$2" "$1" || complain "$1 is not of version $version"
}
has_version CITATION.cff "^version: $version\$"
has_version CHANGELOG.md "^## $version\\>"
has_version packaging/rpm/fastsched.spec "^Version: *$version\$"
homepage=$(sed -n 's/^homepage=//p' packaging/maintainer)
for file in packaging/easybuild/*.eb; do
    has_version "$file" "^version = '$version'\$"
    grep -qF "homepage = '$homepage'" "$file" || complain "$file: the homepage is not $homepage, that of packaging/maintainer"
done
# The placeholders are in these files only, so that a release fills in all of them.
if [ -e .git ] && command -v git >/dev/null; then
    found=$(git grep -lF fastsched.example -- . ':!packaging/maintainer' ':!packaging/easybuild' ':!tests/check_docs.sh')
    [ -z "$found" ] || complain "fastsched.example outside of packaging/maintainer: $found"
fi

# TOOL FILE COMMAND...
reads() {
    tool=$1 file=$2
    shift 2
    command -v "$tool" >/dev/null || return 0
    said=$("$@" 2>&1 >/dev/null </dev/null) || complain "$file: $said"
}
for luac in luac luac5.4 luac5.3; do
    reads $luac packaging/lmod/fastsched.lua $luac -p packaging/lmod/fastsched.lua
done
reads rpmspec packaging/rpm/fastsched.spec rpmspec -P packaging/rpm/fastsched.spec
reads cffconvert CITATION.cff cffconvert --validate -i CITATION.cff

[ $failed = 0 ] && echo 'check_docs: ok'
exit $failed
