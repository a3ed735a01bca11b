# The graph: pins, identities and targets. Nothing is computed elsewhere.
#
#   docker buildx bake                     atom-vllm for the default fleet (MANIFEST=instinct)
#   MANIFEST=snoc docker buildx bake       … for another fleet (manifests/)
#   ATOM_REF=main docker buildx bake gate  does this ATOM fit this vLLM? seconds, builds no image
#   docker buildx bake --list=variables    every pin, with what it means
#
# ATOMSTACK_LOCK and ATOMSTACK_MANIFESTS come from docker-bake.override.json, which bake loads by itself. They are declared
# nowhere else, so that `-f docker-bake.hcl` alone fails instead of silently building unlocked.

# --- what to build -------------------------------------------------------------------------------------------------

variable "MANIFEST" {
  description = "The fleet of GPUs to build for: the name of a file in manifests/"
  type        = string
  default     = "instinct"
  validation {
    condition     = contains(keys(ATOMSTACK_MANIFESTS), MANIFEST)
    error_message = "MANIFEST=${MANIFEST}: no such manifest. There are: ${join(", ", keys(ATOMSTACK_MANIFESTS))}."
  }
}

variable "REGISTRY" {
  description = "Prefix of every image name, with its final slash: registry.example.com/team/"
  type        = string
  default     = "atomstack/"
  validation {
    condition     = REGISTRY == "" || (can(regex("/$", REGISTRY)) && is_image("${REGISTRY}name:tag"))
    error_message = "REGISTRY=${REGISTRY}: expected an image name prefix that ends in a slash, as registry.example.com/team/."
  }
}

variable "CACHE" {
  description = "Registry repository for BuildKit's layer cache (one tag per component id); empty for none"
  type        = string
  default     = ""
  validation {
    condition     = CACHE == "" || is_image("${CACHE}:tag")
    error_message = "CACHE=${CACHE}: expected an image name without a tag, as registry.example.com/team/cache."
  }
}

variable "FROZEN" {
  description = "1 refuses to build while any pin is unlocked"
  type        = string
  default     = unset
  validation {
    condition     = contains(["", "0", "1"], FROZEN)
    error_message = "FROZEN=${FROZEN}: expected 1, 0 or nothing."
  }
  validation {
    condition     = FROZEN != "1" || locked
    error_message = "FROZEN=1, and these pins are not locked: ${join(", ", unlocked_pins)}. `atomstack lock` resolves refs and images where their hosts are reached; PORTABLE_ROOTFS is what `make portable` sets; a wheel by its version alone (TORCH_VERSION) stays unlocked."
  }
}

# --- pins ----------------------------------------------------------------------------------------------------------
# Each is overridden on its own from the environment. The defaults are a pair that upstream declares to match: ATOM v0.1.9
# names vLLM 0.31.0. Everything of ROCm below them is what vLLM v0.31.0's own docker/Dockerfile.rocm_base builds with.
# The second tuple, vLLM v0.33.0 on ROCm 10, is env/vllm-0.33-rocm10.env.

variable "ATOM_REPO" {
  description = "Git repository of ATOM; `in-tree` is the reference plugin in atom/ (the default of MANIFEST=portable)"
  type        = string
  default     = portable ? "in-tree" : "https://github.com/ROCm/ATOM.git"
  validation {
    condition     = ATOM_REPO == "in-tree" || is_git_url(ATOM_REPO)
    error_message = "ATOM_REPO=${ATOM_REPO}: expected a Git URL (https://, ssh://, git://, git@) without a password or `in-tree`. For a repository on this disk: git daemon --base-path=DIR --export-all, then git://127.0.0.1/NAME."
  }
}

variable "ATOM_REF" {
  description = "Branch, tag or full commit of ATOM"
  type        = string
  default     = ATOM_REPO == "in-tree" ? "" : "v0.1.9" # renovate: datasource=git-tags depName=https://github.com/ROCm/ATOM.git
  validation {
    condition     = ATOM_REPO == "in-tree" ? ATOM_REF == "" : is_git_ref(ATOM_REF)
    error_message = "ATOM_REF=${ATOM_REF}: expected a branch, a tag or a commit of ATOM_REPO; with ATOM_REPO=in-tree, the plugin in atom/, there is none to choose (set ATOM_REPO as well)."
  }
}

variable "VLLM_REPO" {
  description = "Git repository of vLLM"
  type        = string
  default     = portable ? "" : "https://github.com/vllm-project/vllm.git"
  validation {
    condition     = portable ? VLLM_REPO == "" : is_git_url(VLLM_REPO)
    error_message = portable ? portable_refuses("VLLM_REPO") : "VLLM_REPO=${VLLM_REPO}: expected a Git URL (https://, ssh://, git://, git@) without a password."
  }
}

variable "VLLM_REF" {
  description = "Branch, tag or full commit of vLLM"
  type        = string
  default     = portable ? "" : "v0.31.0" # renovate: datasource=git-tags depName=https://github.com/vllm-project/vllm.git
  validation {
    condition     = portable ? VLLM_REF == "" : is_git_ref(VLLM_REF)
    error_message = portable ? portable_refuses("VLLM_REF") : "VLLM_REF=${VLLM_REF}: expected a branch, a tag or a commit of VLLM_REPO."
  }
}

variable "AITER_REPO" {
  description = "Git repository of aiter, AMD's operator library"
  type        = string
  default     = portable ? "" : "https://github.com/ROCm/aiter.git"
  validation {
    condition     = portable ? AITER_REPO == "" : is_git_url(AITER_REPO)
    error_message = portable ? portable_refuses("AITER_REPO") : "AITER_REPO=${AITER_REPO}: expected a Git URL (https://, ssh://, git://, git@) without a password."
  }
}

variable "AITER_REF" {
  description = "Branch, tag or full commit of aiter"
  type        = string
  default     = portable ? "" : "v0.1.28.post1" # renovate: datasource=git-tags depName=https://github.com/ROCm/aiter.git
  validation {
    condition     = portable ? AITER_REF == "" : is_git_ref(AITER_REF)
    error_message = portable ? portable_refuses("AITER_REF") : "AITER_REF=${AITER_REF}: expected a branch, a tag or a commit of AITER_REPO."
  }
}

variable "LMCACHE_REPO" {
  description = "Git repository of LMCache"
  type        = string
  default     = portable ? "" : "https://github.com/LMCache/LMCache.git"
  validation {
    condition     = portable ? LMCACHE_REPO == "" : is_git_url(LMCACHE_REPO)
    error_message = portable ? portable_refuses("LMCACHE_REPO") : "LMCACHE_REPO=${LMCACHE_REPO}: expected a Git URL (https://, ssh://, git://, git@) without a password."
  }
}

variable "LMCACHE_REF" {
  description = "Branch, tag or full commit of LMCache"
  type        = string
  default     = portable ? "" : "v0.5.6" # renovate: datasource=git-tags depName=https://github.com/LMCache/LMCache.git
  validation {
    condition     = portable ? LMCACHE_REF == "" : is_git_ref(LMCACHE_REF)
    error_message = portable ? portable_refuses("LMCACHE_REF") : "LMCACHE_REF=${LMCACHE_REF}: expected a branch, a tag or a commit of LMCACHE_REPO."
  }
}

variable "CUPY_REPO" {
  description = "Git repository of CuPy"
  type        = string
  default     = portable ? "" : "https://github.com/cupy/cupy.git"
  validation {
    condition     = portable ? CUPY_REPO == "" : is_git_url(CUPY_REPO)
    error_message = portable ? portable_refuses("CUPY_REPO") : "CUPY_REPO=${CUPY_REPO}: expected a Git URL (https://, ssh://, git://, git@) without a password."
  }
}

variable "CUPY_REF" {
  description = "Branch, tag or full commit of CuPy"
  type        = string
  default     = portable ? "" : "v14.2.0" # renovate: datasource=git-tags depName=https://github.com/cupy/cupy.git
  validation {
    condition     = portable ? CUPY_REF == "" : is_git_ref(CUPY_REF)
    error_message = portable ? portable_refuses("CUPY_REF") : "CUPY_REF=${CUPY_REF}: expected a branch, a tag or a commit of CUPY_REPO."
  }
}

variable "TORCH_REPO" {
  description = "Git repository of PyTorch, where TORCH_REF is set"
  type        = string
  default     = portable ? "" : "https://github.com/ROCm/pytorch.git"
  validation {
    condition     = portable ? TORCH_REPO == "" : is_git_url(TORCH_REPO)
    error_message = portable ? portable_refuses("TORCH_REPO") : "TORCH_REPO=${TORCH_REPO}: expected a Git URL (https://, ssh://, git://, git@) without a password."
  }
}

variable "TORCH_REF" {
  description = "Commit of PyTorch to compile; empty to install TORCH_VERSION from TORCH_INDEX"
  type        = string
  # vLLM v0.31.0 writes this abbreviated; `atomstack lock` expands it, for Git serves no abbreviated commits.
  default = portable || TORCH_VERSION != "" ? "" : "733fca1"
  validation {
    condition     = portable ? TORCH_REF == "" : (TORCH_REF == "" || is_git_ref(TORCH_REF))
    error_message = portable ? portable_refuses("TORCH_REF") : "TORCH_REF=${TORCH_REF}: expected a branch, a tag or a commit of TORCH_REPO."
  }
  validation {
    condition     = portable || (TORCH_REF == "") != (TORCH_VERSION == "")
    error_message = "TORCH_REF=${TORCH_REF} and TORCH_VERSION=${TORCH_VERSION}: exactly one of them says where torch comes from."
  }
}

variable "TORCH_VERSION" {
  description = "Version of the torch wheel to install from TORCH_INDEX, as 2.13.0+rocm10.0.0; empty to compile TORCH_REF"
  type        = string
  default     = ""
  validation {
    condition     = TORCH_VERSION == "" || (!portable && can(regex("^[0-9]+[.][0-9]+[.][0-9]+([.+][A-Za-z0-9.]+)?$", TORCH_VERSION)))
    error_message = portable ? portable_refuses("TORCH_VERSION") : "TORCH_VERSION=${TORCH_VERSION}: expected a version such as 2.13.0+rocm10.0.0."
  }
}

variable "TORCH_INDEX" {
  description = "Wheel index that serves TORCH_VERSION and, for a base without ROCm, AMD's SDK wheels; empty to compile TORCH_REF"
  type        = string
  default     = portable || TORCH_VERSION == "" ? "" : "https://repo.amd.com/rocm/whl-multi-arch/"
  validation {
    condition     = portable || TORCH_VERSION == "" ? TORCH_INDEX == "" : can(regex("^https://[A-Za-z0-9._~:/%+-]+$", TORCH_INDEX))
    error_message = portable ? portable_refuses("TORCH_INDEX") : "TORCH_INDEX=${TORCH_INDEX}: expected an https:// address of a wheel index, without a password; it serves TORCH_VERSION, so set that as well."
  }
}

variable "TRITON_REPO" {
  description = "Git repository of Triton for ROCm"
  type        = string
  default     = portable ? "" : "https://github.com/ROCm/triton.git"
  validation {
    condition     = portable ? TRITON_REPO == "" : is_git_url(TRITON_REPO)
    error_message = portable ? portable_refuses("TRITON_REPO") : "TRITON_REPO=${TRITON_REPO}: expected a Git URL (https://, ssh://, git://, git@) without a password."
  }
}

variable "TRITON_REF" {
  description = "Branch, tag or full commit of Triton"
  type        = string
  default     = portable ? "" : "669b31acc1dd1b3fd93286afd5db67f65d9f7557"
  validation {
    condition     = portable ? TRITON_REF == "" : is_git_ref(TRITON_REF)
    error_message = portable ? portable_refuses("TRITON_REF") : "TRITON_REF=${TRITON_REF}: expected a branch, a tag or a commit of TRITON_REPO."
  }
}

variable "ROCM_VERSION" {
  description = "Version of ROCm: of the developer image, or of AMD's SDK wheels where BASE_IMAGE carries none"
  type        = string
  default     = portable ? "" : "7.2.3"
  validation {
    condition     = portable ? ROCM_VERSION == "" : can(regex("^[0-9]+[.][0-9]+([.][0-9]+)?$", ROCM_VERSION))
    error_message = portable ? portable_refuses("ROCM_VERSION") : "ROCM_VERSION=${ROCM_VERSION}: expected a version such as 7.2.3."
  }
}

variable "BASE_IMAGE" {
  description = "Image that everything stands on: a ROCm developer image, or a plain Ubuntu that gets AMD's SDK wheels"
  type        = string
  default     = portable ? "" : rocm_image
  validation {
    # What was made of ROCM_VERSION is judged there.
    condition     = portable ? BASE_IMAGE == "" : (BASE_IMAGE == rocm_image || is_image(BASE_IMAGE))
    error_message = portable ? portable_refuses("BASE_IMAGE") : "BASE_IMAGE=${BASE_IMAGE}: expected an image reference with a tag or a digest."
  }
}

variable "GATE_IMAGE" {
  description = "Image with a Python >= 3.11 in which the gate runs; it is in no image that ships"
  type        = string
  default     = portable ? "" : "docker.io/library/python:3.12-slim-bookworm"
  validation {
    condition     = portable ? GATE_IMAGE == "" : is_image(GATE_IMAGE)
    error_message = portable ? portable_refuses("GATE_IMAGE") : "GATE_IMAGE=${GATE_IMAGE}: expected an image reference with a tag or a digest."
  }
}

# --- this machine --------------------------------------------------------------------------------------------------
# `make` sets these. None is part of an identity, and none stays in an image.

variable "CA_BUNDLE" {
  description = "File with the certificate authorities that RUN steps need to reach the package index (behind a proxy)"
  type        = string
  default     = ""
}

variable "PIP_CONF" {
  description = "pip configuration file that RUN steps use"
  type        = string
  default     = ""
}

variable "TORCH_WHEEL_DIR" {
  description = "MANIFEST=portable: folder that holds the locked torch wheel, where PyTorch's index is not reached"
  type        = string
  default     = ""
}

variable "PORTABLE_ROOTFS" {
  description = "MANIFEST=portable: identity of the root filesystem in .build/rootfs (scripts/rootfs.sh prints it)"
  type        = string
  default     = ""
  validation {
    condition     = PORTABLE_ROOTFS == "" || (portable && can(regex("^[0-9a-f]{64}$", PORTABLE_ROOTFS)))
    error_message = "PORTABLE_ROOTFS=${PORTABLE_ROOTFS}: expected the SHA-256 in .build/rootfs/rootfs.id, and MANIFEST=portable."
  }
}

# --- the tuple -----------------------------------------------------------------------------------------------------
# What takes no argument is an attribute and no function: bake evaluates it once, where a function of ids that call ids
# cost seconds. An attribute, unlike a variable, cannot be overridden from the environment.

fleet = lookup(ATOMSTACK_MANIFESTS, MANIFEST, { description = "", hash = "", flavour = "rocm", gfx = [], components = {}, plugin = "allowed", toolchain = [] })

portable = fleet.flavour == "portable"

gfx = join(";", fleet.gfx)

rocm_image = "docker.io/rocm/dev-ubuntu-22.04:${ROCM_VERSION}-complete"

function "ships" {
  params = [component]
  result = lookup(fleet.components, component, false)
}

# "", by way of every function that a validation calls: bake runs validations before it loads functions, except those
# that the default of some variable has called.
unset = locked || is_git_url("") || is_git_ref("") || is_image("") || portable_refuses("") == "" ? "" : ""

# Without a password: it would stand in the image's labels.
function "is_git_url" {
  params = [url]
  result = can(regex("^((https?|git)://|ssh://([A-Za-z0-9._-]+@)?|git@)[A-Za-z0-9._~:/%+-]+$", url))
}

function "is_git_ref" {
  params = [ref]
  result = can(regex("^[A-Za-z0-9][A-Za-z0-9._/+-]*$", ref)) && !can(regex("[.][.]|//|/[.]|[.]lock$|[.]$|/$", ref)) && (lower(ref) == ref || !can(regex("^[0-9A-Fa-f]{40}$", ref)))
}

# An image reference with a tag, a digest or both.
function "is_image" {
  params = [image]
  result = can(regex("^([A-Za-z0-9][A-Za-z0-9.-]*(:[0-9]+)?/)?[a-z0-9]+([._-]+[a-z0-9]+)*(/[a-z0-9]+([._-]+[a-z0-9]+)*)*(:[A-Za-z0-9_][A-Za-z0-9_.-]*(@sha256:[0-9a-f]{64})?|@sha256:[0-9a-f]{64})$", image))
}

function "portable_refuses" {
  params = [name]
  result = "${name} has no effect under MANIFEST=portable: there vLLM and torch are wheels, pinned with their hashes in docker/vllm/portable.lock and docker-bake.override.json. Unset ${name}, or choose a ROCm manifest."
}

# The commit that `atomstack lock` found behind a ref; a full commit is its own lock; "" is unlocked.
function "commit" {
  params = [repo, ref]
  result = can(regex("^[0-9a-f]{40}$", ref)) ? ref : try(regex("^[0-9a-f]{40}$", ATOMSTACK_LOCK.sources["${repo}#${ref}"].commit), "")
}

function "version" {
  params = [repo, ref]
  result = lookup(lookup(ATOMSTACK_LOCK.sources, "${repo}#${ref}", {}), "version", "") == null ? "" : lookup(lookup(ATOMSTACK_LOCK.sources, "${repo}#${ref}", {}), "version", "")
}

# A Git context for BuildKit, by commit where it is known.
function "source" {
  params = [repo, ref]
  result = "${repo}#${commit(repo, ref) != "" ? commit(repo, ref) : ref}"
}

function "image_digest" {
  params = [image]
  result = try(regex("@(sha256:[0-9a-f]{64})$", image)[0], regex("^sha256:[0-9a-f]{64}$", ATOMSTACK_LOCK.images[image]), "")
}

function "image" {
  params = [image]
  result = can(regex("@sha256:", image)) || image_digest(image) == "" ? image : "${image}@${image_digest(image)}"
}

function "recipe" {
  params = [component]
  result = lookup(ATOMSTACK_LOCK.recipes, component, "")
}

function "wheel" {
  params = [component]
  result = lookup(ATOMSTACK_LOCK.wheels, component, { name = "", version = "", url = "", sha256 = "" })
}

function "is_sha256" {
  params = [digest]
  result = can(regex("^[0-9a-f]{64}$", digest))
}

function "unlocked_git" {
  params = [name, repo, ref]
  result = repo == "in-tree" || ref == "" || commit(repo, ref) != "" ? "" : "${name}=${ref}"
}

unlocked_pins = compact(portable ? [
  unlocked_git("ATOM_REF", ATOM_REPO, ATOM_REF),
  PORTABLE_ROOTFS == "" ? "PORTABLE_ROOTFS" : "",
  is_sha256(wheel("torch").sha256) ? "" : "the torch wheel",
  is_sha256(wheel("vllm").sha256) ? "" : "the vLLM wheel",
  ] : [
  unlocked_git("ATOM_REF", ATOM_REPO, ATOM_REF),
  unlocked_git("VLLM_REF", VLLM_REPO, VLLM_REF),
  ships("aiter") ? unlocked_git("AITER_REF", AITER_REPO, AITER_REF) : "",
  ships("lmcache") ? unlocked_git("LMCACHE_REF", LMCACHE_REPO, LMCACHE_REF) : "",
  ships("cupy") ? unlocked_git("CUPY_REF", CUPY_REPO, CUPY_REF) : "",
  unlocked_git("TORCH_REF", TORCH_REPO, TORCH_REF),
  unlocked_git("TRITON_REF", TRITON_REPO, TRITON_REF),
  # A wheel of TORCH_VERSION has no hash in the lock yet: a version alone can be replaced on its index.
  TORCH_VERSION == "" ? "" : "TORCH_VERSION=${TORCH_VERSION}",
  image_digest(BASE_IMAGE) == "" ? "BASE_IMAGE=${BASE_IMAGE}" : "",
  image_digest(GATE_IMAGE) == "" ? "GATE_IMAGE=${GATE_IMAGE}" : "",
])

locked = length(unlocked_pins) == 0

# --- identity: a Merkle tree ---------------------------------------------------------------------------------------
# A component's id covers its pins, its gfx list, the tree hash of its recipe and its parents' ids. A ref counts by the
# commit it is locked to, else by its name.

function "component_id" {
  params = [name, pins, targets, parents]
  result = substr(sha256(jsonencode({ component = name, pins = pins, gfx = targets, recipe = recipe(name), parents = parents })), 0, 12)
}

base_id = component_id("base", portable ? [PORTABLE_ROOTFS] : [image(BASE_IMAGE), ROCM_VERSION, TORCH_INDEX], "", [])

torch_id = component_id("torch",
  portable ? [wheel("torch").version, wheel("torch").sha256] : [
    TORCH_REF == "" ? "${TORCH_INDEX} ${TORCH_VERSION}" : source(TORCH_REPO, TORCH_REF), source(TRITON_REPO, TRITON_REF)
], gfx, [base_id])

aiter_id = component_id("aiter", ships("aiter") ? [source(AITER_REPO, AITER_REF)] : [], gfx, [torch_id])

cupy_id = component_id("cupy", ships("cupy") ? [source(CUPY_REPO, CUPY_REF)] : [], gfx, [torch_id])

lmcache_id = component_id("lmcache", ships("lmcache") ? [source(LMCACHE_REPO, LMCACHE_REF)] : [], gfx, [torch_id])

vllm_id = component_id("vllm", portable ? [wheel("vllm").version, wheel("vllm").sha256] : [source(VLLM_REPO, VLLM_REF)], gfx, [torch_id])

atom_id = component_id("atom", ATOM_REPO == "in-tree" ? ["in-tree"] : [source(ATOM_REPO, ATOM_REF)], "", [base_id])

atom_vllm_id = component_id("atom-vllm", [MANIFEST, fleet.plugin, join(" ", fleet.toolchain)], gfx, [vllm_id, aiter_id, cupy_id, lmcache_id, atom_id])

# The identity of the combination.
stack_id = atom_vllm_id

function "tag" {
  params = [name, id]
  result = "${REGISTRY}${name}:${MANIFEST}-${id}${locked ? "" : "-unlocked"}"
}

# --- what an image says of itself ----------------------------------------------------------------------------------
# Labels record pins and ids only: they are written before any gate runs.

function "pin" {
  params = [from, ref, resolved, release, id, shipped]
  result = { source = from, ref = ref, resolved = resolved == "" && shipped ? "unlocked" : resolved, version = release, id = id, ships = shipped }
}

function "git_pin" {
  params = [repo, ref, id, shipped]
  result = pin(repo, ref, commit(repo, ref), version(repo, ref), id, shipped)
}

components = {
  base    = portable ? pin("Debian packages", "", PORTABLE_ROOTFS, "", base_id, true) : pin(BASE_IMAGE, "ROCm ${ROCM_VERSION}", image_digest(BASE_IMAGE), ROCM_VERSION, base_id, true)
  torch   = portable ? pin("wheel", "torch", wheel("torch").sha256, wheel("torch").version, torch_id, true) : (TORCH_REF == "" ? pin(TORCH_INDEX, TORCH_VERSION, "", TORCH_VERSION, torch_id, true) : git_pin(TORCH_REPO, TORCH_REF, torch_id, true))
  triton  = git_pin(TRITON_REPO, TRITON_REF, torch_id, !portable)
  aiter   = git_pin(AITER_REPO, AITER_REF, aiter_id, ships("aiter"))
  cupy    = git_pin(CUPY_REPO, CUPY_REF, cupy_id, ships("cupy"))
  lmcache = git_pin(LMCACHE_REPO, LMCACHE_REF, lmcache_id, ships("lmcache"))
  vllm    = portable ? pin("wheel", wheel("vllm").name, wheel("vllm").sha256, wheel("vllm").version, vllm_id, true) : git_pin(VLLM_REPO, VLLM_REF, vllm_id, true)
  atom    = ATOM_REPO == "in-tree" ? pin("in-tree", "", recipe("atom"), "", atom_id, true) : git_pin(ATOM_REPO, ATOM_REF, atom_id, true)
}

# The content of /usr/share/atomstack/stack.json, which `stack-info` reads.
stack_json = jsonencode({
  schema     = 1
  stack_id   = stack_id
  tag        = tag("atom-vllm", stack_id)
  unlocked   = unlocked_pins
  flavour    = fleet.flavour
  manifest   = { name = MANIFEST, description = fleet.description, hash = fleet.hash, gfx = fleet.gfx, plugin = fleet.plugin, toolchain = fleet.toolchain }
  components = components
})

function "labels" {
  params = [name, id]
  result = {
    "org.opencontainers.image.title"       = name
    "org.opencontainers.image.description" = "${name} of ATOM + vLLM, for the fleet ${MANIFEST}"
    "org.opencontainers.image.version"     = id
    "org.opencontainers.image.base.name"   = portable ? "scratch" : BASE_IMAGE
    "org.opencontainers.image.base.digest" = portable ? "" : image_digest(BASE_IMAGE)
    "atomstack.id"                         = id
    "atomstack.flavour"                    = fleet.flavour
    "atomstack.manifest"                   = MANIFEST
    "atomstack.manifest.hash"              = fleet.hash
    "atomstack.gfx"                        = gfx
    "atomstack.locked"                     = locked ? "true" : "unlocked"
  }
}

stack_labels = merge(
  labels("atom-vllm", stack_id),
  {
    "atomstack.stack.id" = stack_id
    "atomstack.unlocked" = join(" ", unlocked_pins)
    "atom.source"        = ATOM_REPO == "in-tree" ? "reference" : "upstream"
  },
  portable ? {} : {
    "atomstack.gate.source"   = GATE_IMAGE
    "atomstack.gate.resolved" = image_digest(GATE_IMAGE) == "" ? "unlocked" : image_digest(GATE_IMAGE)
  },
  { for name, c in components : "atomstack.${name}.source" => c.source if c.ships },
  { for name, c in components : "atomstack.${name}.ref" => c.ref if c.ships && c.ref != "" },
  { for name, c in components : "atomstack.${name}.resolved" => c.resolved if c.ships },
  { for name, c in components : "atomstack.${name}.version" => c.version if c.ships && c.version != "" },
  { for name, c in components : "atomstack.${name}.id" => c.id if c.ships },
  { for name, c in components : "atomstack.${name}.ships" => c.ships ? "true" : "false" },
)

function "annotations" {
  params = [labels]
  result = [for key, value in labels : "${key}=${value}" if value != ""]
}

function "cache" {
  params = [name, id]
  result = CACHE == "" ? [] : ["type=registry,ref=${CACHE}:${name}-${id}"]
}

function "cache_to" {
  params = [name, id]
  result = CACHE == "" ? [] : ["type=registry,ref=${CACHE}:${name}-${id},mode=max"]
}

# An image target names its output, although it is the default: bake gives annotations to named outputs only.

# --- targets -------------------------------------------------------------------------------------------------------

group "default" {
  targets = ["atom-vllm"]
}

group "wheels" {
  targets = ["aiter", "cupy", "lmcache", "atom", "vllm-wheel"]
}

group "all" {
  targets = ["gate", "base", "torch", "vllm", "wheels", "atom-vllm"]
}

target "_common" {
  context   = "."
  platforms = ["linux/amd64"]
  secret = concat(
    CA_BUNDLE == "" ? [] : [{ type = "file", id = "ca", src = CA_BUNDLE }],
    PIP_CONF == "" ? [] : [{ type = "file", id = "pipconf", src = PIP_CONF }],
  )
}

# Every compile waits for the gate: it mounts the gate's verdict, an empty file that never changes.
target "_compiled" {
  inherits = ["_common"]
  contexts = { verdict = "target:gate" }
  args     = { GFX = gfx }
}

target "gate" {
  inherits   = ["_common"]
  dockerfile = "docker/Dockerfile.gate"
  target     = "verdict"
  contexts = {
    python   = portable ? "target:base" : "docker-image://${image(GATE_IMAGE)}"
    consumer = ATOM_REPO == "in-tree" ? "atom" : source(ATOM_REPO, ATOM_REF)
    host     = portable ? "target:vllm-wheel" : source(VLLM_REPO, VLLM_REF)
  }
  args = {
    MANIFEST        = MANIFEST
    MANIFEST_HASH   = fleet.hash
    PORTABLE_ROOTFS = PORTABLE_ROOTFS
  }
  output = ["type=cacheonly"]
}

# What the gate said, also where it refused: scripts/bake.sh ends with it.
target "gate-result" {
  inherits = ["gate"]
  target   = "result"
  output   = ["type=local,dest=.build/gate"]
}

# What the gate said, as a file for the image. Apart from the verdict, for its content changes with every ATOM.
target "gate-report" {
  inherits = ["gate"]
  target   = "report"
}

# compat-check as one file, mounted into the RUN that needs it and left in no image.
target "gate-tool" {
  inherits = ["gate"]
  target   = "tool"
}

target "base" {
  inherits   = ["_common"]
  dockerfile = "docker/Dockerfile.base"
  target     = fleet.flavour
  args = {
    BASE_IMAGE   = portable ? "scratch" : image(BASE_IMAGE)
    ROCM_VERSION = ROCM_VERSION
    SDK_INDEX    = TORCH_INDEX
  }
  tags        = [tag("base", base_id)]
  labels      = labels("base", base_id)
  annotations = annotations(labels("base", base_id))
  output      = ["type=image"]
  cache-from  = cache("base", base_id)
  cache-to    = cache_to("base", base_id)
}

target "torch" {
  inherits   = ["_compiled"]
  dockerfile = "docker/Dockerfile.torch"
  target     = portable ? "portable" : (TORCH_REF == "" ? "wheel" : "source")
  contexts = merge(
    { base = "target:base" },
    portable ? {} : { triton-src = source(TRITON_REPO, TRITON_REF) },
    portable || TORCH_REF == "" ? {} : { torch-src = source(TORCH_REPO, TORCH_REF) },
    portable && TORCH_WHEEL_DIR != "" ? { torch-wheel = TORCH_WHEEL_DIR } : {},
  )
  args = {
    TORCH_VERSION      = portable ? wheel("torch").version : TORCH_VERSION
    TORCH_INDEX        = TORCH_INDEX
    TORCH_WHEEL_URL    = wheel("torch").url
    TORCH_WHEEL_SHA256 = wheel("torch").sha256
  }
  tags        = [tag("torch", torch_id)]
  labels      = labels("torch", torch_id)
  annotations = annotations(labels("torch", torch_id))
  output      = ["type=image"]
  cache-from  = cache("torch", torch_id)
  cache-to    = cache_to("torch", torch_id)
}

target "_wheel" {
  inherits = ["_compiled"]
  contexts = { torch = "target:torch" }
  output   = ["type=local,dest=dist/wheels"]
}

target "aiter" {
  inherits   = ["_wheel"]
  dockerfile = "docker/Dockerfile.aiter"
  target     = ships("aiter") ? "wheel" : "none"
  contexts   = ships("aiter") ? { aiter-src = source(AITER_REPO, AITER_REF) } : {}
  args       = { VERSION = version(AITER_REPO, AITER_REF) }
  cache-from = cache("aiter", aiter_id)
  cache-to   = cache_to("aiter", aiter_id)
}

target "cupy" {
  inherits   = ["_wheel"]
  dockerfile = "docker/Dockerfile.cupy"
  target     = ships("cupy") ? "wheel" : "none"
  contexts   = ships("cupy") ? { cupy-src = source(CUPY_REPO, CUPY_REF) } : {}
  cache-from = cache("cupy", cupy_id)
  cache-to   = cache_to("cupy", cupy_id)
}

target "lmcache" {
  inherits   = ["_wheel"]
  dockerfile = "docker/Dockerfile.lmcache"
  target     = ships("lmcache") ? "wheel" : "none"
  contexts   = ships("lmcache") ? { lmcache-src = source(LMCACHE_REPO, LMCACHE_REF) } : {}
  args       = { VERSION = version(LMCACHE_REPO, LMCACHE_REF) }
  cache-from = cache("lmcache", lmcache_id)
  cache-to   = cache_to("lmcache", lmcache_id)
}

target "atom" {
  inherits   = ["_common"]
  dockerfile = "docker/Dockerfile.atom"
  contexts = {
    base     = "target:base"
    verdict  = "target:gate"
    atom-src = ATOM_REPO == "in-tree" ? "atom" : source(ATOM_REPO, ATOM_REF)
  }
  args   = { VERSION = ATOM_REPO == "in-tree" ? "" : version(ATOM_REPO, ATOM_REF) }
  output = ["type=local,dest=dist/wheels"]
}

# The vLLM wheel: compiled for the manifest's targets, or (portable) the pinned CPU wheel, which the gate reads as well.
target "vllm-wheel" {
  inherits   = [portable ? "_common" : "_wheel"]
  dockerfile = "docker/Dockerfile.vllm"
  target     = portable ? "portable-wheel" : "wheel"
  contexts   = portable ? { base = "target:base" } : { vllm-src = source(VLLM_REPO, VLLM_REF) }
  args = {
    VERSION           = portable ? wheel("vllm").version : version(VLLM_REPO, VLLM_REF)
    VLLM_WHEEL        = wheel("vllm").name
    VLLM_WHEEL_SHA256 = wheel("vllm").sha256
  }
  output     = ["type=local,dest=dist/wheels"]
  cache-from = cache("vllm-wheel", vllm_id)
  cache-to   = cache_to("vllm-wheel", vllm_id)
}

target "vllm" {
  inherits   = ["_compiled"]
  dockerfile = "docker/Dockerfile.vllm"
  target     = fleet.flavour
  contexts = {
    torch        = "target:torch"
    vllm-wheel   = "target:vllm-wheel"
  }
  args        = { VERSION = portable ? wheel("vllm").version : "" }
  tags        = [tag("vllm", vllm_id)]
  labels      = labels("vllm", vllm_id)
  annotations = annotations(labels("vllm", vllm_id))
  output      = ["type=image"]
  cache-from  = cache("vllm", vllm_id)
  cache-to    = cache_to("vllm", vllm_id)
}

target "atom-vllm" {
  inherits   = ["_common"]
  dockerfile = "docker/Dockerfile.atom-vllm"
  contexts = {
    vllm    = "target:vllm"
    aiter   = "target:aiter"
    cupy    = "target:cupy"
    lmcache = "target:lmcache"
    atom    = "target:atom"
    report  = "target:gate-report"
    tool    = "target:gate-tool"
  }
  args        = { STACK_JSON = stack_json }
  tags        = [tag("atom-vllm", stack_id)]
  labels      = stack_labels
  annotations = annotations(stack_labels)
  output      = ["type=image"]
  cache-from  = cache("atom-vllm", stack_id)
  cache-to    = cache_to("atom-vllm", stack_id)
}
