const pattern =
  /^version https:\/\/git-lfs\.github\.com\/spec\/v1\n(?:[a-z0-9.-]+ [^\n]*\n)*?oid sha256:([0-9a-f]{64})\nsize (\d+)\n/;

/** Pointer files are smaller than this by the specification. */
export const largestPointer = 1024;

/** What a Git LFS pointer file stands for (git-lfs specification v1); null for any other file. */
export function readLfsPointer(content: Buffer): { oid: string; size: number } | null {
  if (content.length > largestPointer) return null;
  const match = pattern.exec(content.toString('latin1'));
  const size = Number(match?.[2]);
  return match && Number.isSafeInteger(size) ? { oid: match[1] ?? '', size } : null;
}
