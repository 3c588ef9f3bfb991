const secretText =
  /\b(ptc_[0-9A-Za-z]{36}|whk_[\w-]{8,}|whsec_[\w+/=-]{8,}|ptr_[0-9A-Za-z]{8,})|(\/(?:setup|join|reset)#)[\w-]+|(\/webhooks\/[^\s"?]*\?)[^\s"]+/g;

/** Removes what must not reach a log, or the audit log, from any text: tokens, secrets, one-time links, query strings of webhooks. */
export function redactText(text: string): string {
  return text.replace(secretText, (_match, token?: string, link?: string, webhook?: string) =>
    token ? `${token.slice(0, 4)}[redacted]` : `${link ?? webhook}[redacted]`,
  );
}
