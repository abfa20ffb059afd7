#!/usr/bin/env bash
# Builds api/pages/static/codemirror.js, the editor of the page at `/`, from npm's packages: the same bytes each time.
# Change a version here and run `make editor`. If CodeMirror's style has changed, the page shows an editor without style,
# and the browser's console names the hash that belongs in api/pages/files.py.
set -euo pipefail
built=$(realpath "$(dirname "$0")/../../api/pages/static/codemirror.js")
# All of it, so that npm chooses nothing.
PACKAGES=(
  @codemirror/commands@6.11.1 @codemirror/language@6.13.1 @codemirror/state@6.7.6 @codemirror/streamparser@6.0.0
  @codemirror/view@6.43.15 @lezer/common@1.5.5 @lezer/highlight@1.2.5 @lezer/lr@1.4.12 @marijn/find-cluster-break@1.0.4
  crelt@1.0.7 style-mod@4.1.5 w3c-keyname@2.2.8
)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cat >entry.js <<'EOF'
export { StateEffect, StateField } from "@codemirror/state";
export { Decoration, EditorView, keymap, placeholder } from "@codemirror/view";
export { history, historyKeymap, invertedEffects, isolateHistory, standardKeymap, undo, undoDepth } from "@codemirror/commands";
EOF
echo '{"private": true}' >package.json
npm install --silent --ignore-scripts --save-exact "${PACKAGES[@]}" esbuild@0.28.2
{
  printf '/*! Built by ops/deploy/build_editor.sh from %s.\n\n' "${PACKAGES[*]}"
  grep -h '^Copyright' $(for package in "${PACKAGES[@]}"; do echo "node_modules/${package%@*}/LICENSE"; done) | sort -u
  sed '/^Copyright/d' node_modules/@codemirror/state/LICENSE
  echo '*/'
} >banner
node_modules/.bin/esbuild entry.js --bundle --minify --format=esm --target=es2022 --log-level=warning --outfile=built.js
cat banner built.js >"$built"
wc -c "$built"
