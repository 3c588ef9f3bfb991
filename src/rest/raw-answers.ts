import type { z } from 'zod';
import type { logPart } from '../domain/studio/deployments/get-log.operations.ts';
import { isActiveType, servedType } from '../domain/studio/mime.ts';
import type { file } from '../domain/studio/repository/repository.schema.ts';
import type { workflowVersion } from '../domain/workflows/workflow.schema.ts';
import type { RawAnswer } from './table.ts';

/** A version as it was written, with its comments, for requests that accept YAML. */
export function definitionText(
  { source }: z.output<typeof workflowVersion>,
  _input: Record<string, unknown>,
  _bytes: Buffer | undefined,
  accepts: (type: string) => boolean,
): RawAnswer | null {
  if (!accepts('application/yaml')) return null;
  return { type: 'application/yaml; charset=utf-8', content: Buffer.from(source), headers: { Vary: 'Accept' } };
}

/** A part of a log as plain text; headers say where to go on, and whether anything can still come. */
export function logText(
  { next_offset, complete }: z.output<typeof logPart>,
  _input: Record<string, unknown>,
  bytes: Buffer | undefined,
): RawAnswer | null {
  if (bytes === undefined) return null;
  return {
    type: 'text/plain; charset=utf-8',
    content: bytes,
    headers: {
      'X-Content-Type-Options': 'nosniff',
      'X-Next-Offset': String(next_offset),
      'X-Log-Complete': String(complete),
    },
  };
}

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
  const type = servedType(output.mime);
  return {
    type: type.startsWith('text/') ? `${type}; charset=utf-8` : type,
    content: bytes,
    headers: {
      'X-Content-Type-Options': 'nosniff',
      'Content-Security-Policy': "sandbox; default-src 'none'",
      ...(isActiveType(output.mime) && { 'Content-Disposition': `attachment; filename*=UTF-8''${name}` }),
      ...(input.ref !== undefined && { 'Cache-Control': 'private, max-age=31536000, immutable' }),
    },
  };
}
