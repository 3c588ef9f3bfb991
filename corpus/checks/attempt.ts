import { DomainError } from '../../src/kernel/errors.ts';

/** The result of the engine, its refusal in general words, or what it must never do. */
export type Outcome<Result> = { result: Result } | { refusal: string } | { crash: string };

export function attempt<Result>(run: () => Result): Outcome<Result> {
  try {
    return { result: run() };
  } catch (error) {
    if (!(error instanceof DomainError)) return { crash: `threw ${error}` };
    return { refusal: generalWords(error) };
  }
}

/** Names go, so that refusals for one reason count as one. */
function generalWords({ details, message }: DomainError): string {
  const reason = details?.errors?.[0]?.message ?? message;
  return reason.replace(/(anchor|alias|tag|key) [^\s,;]+/g, '$1 …');
}
