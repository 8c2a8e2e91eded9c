# What the gate and the lanes begin with: sourced at the root of the checkout. Every install is bound to .ci/lock.txt, which is made by
#   uv pip compile --universal --all-extras --no-annotate pyproject.toml .ci/tools.in .ci/lanes.in -o .ci/lock.txt
set -euo pipefail
unset PYTHONDONTWRITEBYTECODE PYTHONPATH VIRTUAL_ENV
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_QUIET=1 UV_SYSTEM_CERTS=1
# pip splits this variable at white space: an address has none.
PIP_CONSTRAINT=$(python3 -c 'import pathlib; print(pathlib.Path(".ci/lock.txt").resolve().as_uri())')
export PIP_CONSTRAINT PIP_BUILD_CONSTRAINT=$PIP_CONSTRAINT
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
tools=.venv-gate

three_times() { "$@" || { sleep 2; "$@"; } || { sleep 10; "$@"; }; }

install() { # ENVIRONMENT WHAT…: with uv, else with plain pip
    local environment=$1
    shift
    three_times $tools/bin/uv pip install -q --compile-bytecode --python "$environment/bin/python" -c .ci/lock.txt -b .ci/lock.txt "$@" ||
        three_times "$environment/bin/python" -m pip install "$@"
}

first_environment() { # WHAT…: with uv, for the other environments
    python3 -m venv $tools
    three_times $tools/bin/pip install uv
    install $tools "$@"
}

build() { # the wheel, by way of the sdist, so that nothing which lies about in the checkout can get into it
    three_times $tools/bin/uv build -q --build-constraints .ci/lock.txt --out-dir "$scratch/dist" .
    wheel=$(echo "$scratch"/dist/inferry-*.whl)
}

root_as_package() { # for type checkers
    mkdir -p .view && ln -sfn .. .view/inferry
}
