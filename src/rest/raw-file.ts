import type { z } from 'zod';
import { isActiveType } from '../domain/studio/mime.ts';
import type { file } from '../domain/studio/repository/repository.schema.ts';
import type { RawAnswer } from './table.ts';

/** `raw=true`: the file's own bytes. What a browser would run is a download, and nothing is sniffed. */
export function rawFile(
  output: z.output<typeof file>,
  input: Record<string, unknown>,
  bytes: Buffer | undefined,
): RawAnswer | null {
  if (bytes === undefined) return null;
  const name = encodeURIComponent(output.name).replace(
    /['()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return {
    type: output.mime.startsWith('text/') ? `${output.mime}; charset=utf-8` : output.mime,
    content: bytes,
    headers: {
      'X-Content-Type-Options': 'nosniff',
      'Content-Security-Policy': "sandbox; default-src 'none'",
      ...(isActiveType(output.mime) && { 'Content-Disposition': `attachment; filename*=UTF-8''${name}` }),
      ...(input.ref !== undefined && { 'Cache-Control': 'private, max-age=31536000, immutable' }),
    },
  };
}
