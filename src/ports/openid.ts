/** What the answer of a provider is checked against; it stays in the browser that began the sign-in. */
export interface OpenIdChecks {
  /** Where it was begun: the settings can name another provider by the time the browser comes back. */
  issuer: string;
  state: string;
  nonce: string;
  /** Of PKCE (RFC 7636). */
  verifier: string;
}

/** An account at a provider, as its ID token names it. */
export interface OpenIdIdentity {
  issuer: string;
  /** `sub`: never given to another account. */
  subject: string;
}

/** Signs people in at the OpenID provider of this server (OpenID Connect Core 1.0, code flow with PKCE). */
export interface OpenId {
  /** Host of the provider, for the text of a button. */
  readonly host: string;
  /**
   * @param callback address that the provider sends the browser back to
   * @returns where to send the browser, and what to keep for `finish`
   * @throws DomainError `unavailable` when the provider cannot be reached
   */
  begin(callback: string): Promise<{ url: string; checks: OpenIdChecks }>;
  /**
   * @param url the address at which the browser came back, with all its parameters
   * @throws DomainError `forbidden` when the answer is a refusal, does not hold, or is another provider's, `unavailable` when the provider cannot be reached
   */
  finish(url: string, checks: OpenIdChecks): Promise<OpenIdIdentity>;
}
