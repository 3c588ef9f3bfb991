import type { Attributes } from './elements.ts';

const fields = new Set(['input', 'select', 'textarea', 'button']);

/** A form that is being read: sent by GET and without fields it is a link. */
export class OpenForm {
  readonly #action: string | undefined;
  #hasFields = false;

  constructor({ action, method }: Attributes) {
    const isGet = !['post', 'dialog'].includes((method ?? '').trim().toLowerCase());
    this.#action = isGet ? action : undefined;
  }

  /** Looks at an element inside. */
  element(name: string, attributes: Attributes): void {
    // A control without a name is not sent.
    if (fields.has(name) && attributes.name) this.#hasFields = true;
  }

  /** Where it leads; sending no fields replaces the query of its action by an empty one. Null: it is no link. */
  get target(): string | null {
    if (this.#hasFields || !this.#action) return null;
    return this.#action.split(/[?#]/, 1)[0] || null;
  }
}
