/**
 * An entry while it is edited. It is kept outside of React, so that a key press renders one field and nothing else, and it survives what happens to
 * the page around it: another address, another answer, an ended session. Every change is in the local draft within half a second.
 */

import { pointerTo, valueAt } from '../../../lib/json-pointer.ts';
import { type Fields, same, withValue } from '../../lib/json.ts';
import {
  type DraftKey,
  type LocalDraft,
  leaveLocalDraft,
  readLocalDraft,
  removeLocalDraft,
  writeLocalDraft,
} from '../../lib/local-drafts.ts';
import { applyEdits, type Content, changeOf, type Edit, type Rebased, retitled, sameContent } from './rebase.ts';

/** How long typed text may be in memory alone, milliseconds. */
const longestUnkept = 400;

/** The view that holds the text, while there is one. */
export interface TextView {
  read: () => string;
  apply: (edits: readonly Edit[]) => void;
  /** Shows another text by the least edits, so that a selection and what else has a place in the text keep theirs. */
  replace: (text: string) => void;
}

/** `clean`: as it was read; `kept`: changes are in this browser; `refused`: the browser does not keep them. */
export type Keeping = 'clean' | 'kept' | 'refused';

export interface EditorState {
  keeping: Keeping;
  isSaving: boolean;
  /** Another tab has the entry open for editing. */
  isLocked: boolean;
  /** Slug that is wanted of an entry that is not made yet; null otherwise. */
  slug: string | null;
  faults: ReadonlyMap<string, string>;
  /** Pointers of fields that a save of somebody else changed, and `body`. */
  marks: ReadonlySet<string>;
  /** How the address that the entry had before a rename can be kept; null where nothing is to be decided. */
  redirect: Redirect | null;
}

/** Where an address goes that is to lead to the entry: pointer of the field, and the slug and path that it had. */
export interface Redirect {
  field: string;
  slug: string;
  url: string | null;
}

export interface Opening {
  key: DraftKey;
  /** Blob of the entry; null when there is none yet. */
  sha: string | null;
  content: Content;
  slug: string | null;
  /** All lines of the file end with CR and LF. */
  isCrlf: boolean;
}

/** Those of texts by their pointers that are neither at a pointer nor below it. */
const outside = (pointer: string, texts: ReadonlyMap<string, string>): ReadonlyMap<string, string> =>
  new Map([...texts].filter(([at]) => at !== pointer && !at.startsWith(`${pointer}/`)));

export class Editor {
  key: DraftKey;
  sha: string | null;
  base: Content;
  /** For a local draft that could not be merged with what was saved since: what is stored now is newer than `sha`. */
  isBehind = false;
  /** Content of a save that was not answered: it may be stored, or not. */
  unanswered: Content | null = null;
  /** What the site's own template gave a new entry; null where it does not begin with one. */
  begun: Content | null = null;
  /** What is not touched yet: of an entry that is not made; null where there is a stored version. */
  #untouched: { content: Content; slug: string | null } | null = null;
  /** What was edited before the entry moved, until the page has followed. */
  movedFrom: DraftKey | null = null;
  readonly isCrlf: boolean;
  /** Versions that were edited before: an answer that is late brings none of them back. */
  readonly #past = new Set<string>();
  #fields: Fields;
  /** Text of fields that is no value yet, by pointer. */
  #unparsed: ReadonlyMap<string, string> = new Map();
  /** Faults that the stored version had, at fields that were not changed since. */
  #standing: ReadonlyMap<string, string> = new Map();
  #text: string;
  #view: TextView | null = null;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #listeners = new Set<() => void>();
  #textListeners = new Set<() => void>();
  #state: EditorState;

  constructor({ key, sha, content, slug, isCrlf }: Opening) {
    this.isCrlf = isCrlf;
    this.key = key;
    this.sha = sha;
    this.base = content;
    this.#fields = content.fields;
    this.#text = content.raw ?? content.body;
    this.#state = {
      ...{ keeping: 'clean', isSaving: false, isLocked: false, slug },
      ...{ faults: new Map(), marks: new Set(), redirect: null },
    };
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  /** Notifies of each change of the text, which the other listeners are spared. */
  readonly subscribeText = (listener: () => void): (() => void) => {
    this.#textListeners.add(listener);
    return () => void this.#textListeners.delete(listener);
  };

  readonly state = (): EditorState => this.#state;

  update(change: Partial<EditorState>): void {
    this.#state = { ...this.#state, ...change };
    for (const listener of this.#listeners) listener();
  }

  get fields(): Fields {
    return this.#fields;
  }

  /** The body, or the whole file where it is edited as one. */
  get text(): string {
    return this.#view ? this.#view.read() : this.#text;
  }

  get isRaw(): boolean {
    return this.base.raw !== null;
  }

  content(): Content {
    return this.isRaw ? { ...this.base, raw: this.text } : { fields: this.#fields, body: this.text, raw: null };
  }

  value(pointer: string): unknown {
    return valueAt(this.#fields, pointer);
  }

  set(pointer: string, value: unknown): void {
    const hadUnparsed = this.#dropUnparsed(pointer);
    if (!hadUnparsed && same(this.value(pointer), value)) return;
    this.#fields = withValue(this.#fields, pointer, value);
    const { faults } = this.#state;
    this.#standing = outside(pointer, this.#standing);
    const rest = outside(pointer, faults);
    this.update(rest.size < faults.size ? { faults: rest } : {});
    this.#schedule();
  }

  /** Shows what is wrong with the version that is stored, at fields that are as they are there. @param stored messages by pointer */
  showFaults(stored: ReadonlyMap<string, string>): void {
    this.#standing = new Map([...stored].filter(([at]) => same(this.value(at), valueAt(this.base.fields, at))));
    if (this.#standing.size > 0) this.update({ faults: new Map([...this.#standing, ...this.#state.faults]) });
  }

  /** Forgets the faults of a refused save; those that the stored version had before, at fields that were not changed, stay. */
  clearFaults(): void {
    this.update({ faults: this.#standing });
  }

  unparsed(pointer: string): string | undefined {
    return this.#unparsed.get(pointer);
  }

  get hasUnparsed(): boolean {
    return this.#unparsed.size > 0;
  }

  /** Keeps text of a field that is no value: the field stays as it was until a value is set. */
  setUnparsed(pointer: string, text: string): void {
    this.#unparsed = new Map(this.#unparsed).set(pointer, text);
    this.update({});
    this.#schedule();
  }

  /** Text at a pointer and below it is none any more where the value is another. @returns whether there was any */
  #dropUnparsed(pointer: string): boolean {
    const rest = outside(pointer, this.#unparsed);
    if (rest.size === this.#unparsed.size) return false;
    this.#unparsed = rest;
    return true;
  }

  setSlug(slug: string): void {
    this.update({ slug });
    this.#schedule();
  }

  /** Takes over the text from now on. @returns what gives it back */
  attach(view: TextView): () => void {
    this.#view = view;
    return () => {
      if (this.#view !== view) return;
      this.#text = view.read();
      this.#view = null;
    };
  }

  textChanged(): void {
    for (const listener of this.#textListeners) listener();
    this.#schedule();
  }

  #schedule(): void {
    this.#timer ??= setTimeout(() => void this.keep(), longestUnkept);
  }

  /** Whether something would have to be saved. */
  isChanged(): boolean {
    return this.#isTyped(this.content());
  }

  #isTyped(content: Content): boolean {
    if (this.hasUnparsed) return true;
    if (this.sha !== null || this.#untouched === null) return changeOf(this.base, content) !== null;
    return !sameContent(content, this.#untouched.content) || this.#state.slug !== this.#untouched.slug;
  }

  /** Writes what was typed to the local draft now. Writes follow each other in the order they begin in. */
  async keep(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#state.isLocked) return;
    const draft = this.#draft();
    let keeping: Keeping = draft === null ? 'clean' : 'kept';
    try {
      await (draft === null ? removeLocalDraft(this.key) : writeLocalDraft(this.key, draft));
    } catch {
      if (draft !== null) keeping = 'refused';
    }
    if (this.#state.keeping !== keeping) this.update({ keeping });
  }

  /** Writes what was typed while the page is being left, which may end before `keep` has. */
  leave(): void {
    if (this.#state.isLocked || (this.#timer === null && this.#state.keeping === 'clean')) return;
    try {
      leaveLocalDraft(this.key, this.#draft());
    } catch {
      // Above the limit of localStorage; `keep` may be in time.
    }
    void this.keep();
  }

  #draft(): LocalDraft | null {
    const content = this.content();
    if (!this.#isTyped(content)) return null;
    const { base } = this;
    const unparsed = [...this.#unparsed.values()].join('').length;
    const size = 2 * (content.body.length + base.body.length + (content.raw?.length ?? 0) + unparsed) + 4096;
    return {
      base_sha: this.sha,
      base: { fields: base.fields, text: base.body, raw: base.raw },
      fields: content.fields,
      text: content.body,
      raw: content.raw,
      unparsed: [...this.#unparsed],
      slug: this.#state.slug,
      at: Date.now(),
      size,
    };
  }

  /** Takes what the template gives an entry of another title. */
  follow(template: Content, title: string): void {
    if (this.begun === null) return;
    const { fields, body } = retitled(this.content(), this.begun, template, title);
    this.begun = template;
    for (const name of Object.keys(fields)) this.set(pointerTo('', name), fields[name]);
    this.#replaceText(body);
    this.#schedule();
  }

  /** Begins an entry that is not made yet. @param content what it begins with */
  begin(content: Content): void {
    this.#untouched = { content, slug: this.#state.slug };
    this.show(content);
  }

  /** Shows other content, in place of what is shown. */
  show(content: Content): void {
    this.#fields = content.fields;
    this.#unparsed = new Map();
    this.#replaceText(content.raw ?? content.body);
    this.update({});
    this.#schedule();
  }

  #replaceText(text: string): void {
    if (this.text === text) return;
    if (this.#view) this.#view.replace(text);
    else this.#text = text;
    for (const listener of this.#textListeners) listener();
  }

  #apply(edits: readonly Edit[]): void {
    if (this.#view) this.#view.apply(edits);
    else this.#text = applyEdits(this.#text, edits);
    for (const listener of this.#textListeners) listener();
  }

  #moveOn(sha: string | null, base: Content): void {
    if (this.sha !== null && this.sha !== sha) this.#past.add(this.sha);
    this.sha = sha;
    this.base = base;
    this.isBehind = false;
    this.unanswered = null;
  }

  /** Whether a version that was read is another one than is edited, and none that was edited before. */
  isNews(sha: string): boolean {
    return sha !== this.sha && !this.#past.has(sha);
  }

  /** Goes on from another stored version, with what was changed merged into it. */
  rebaseOn(sha: string, theirs: Content, merged: Rebased): void {
    this.#moveOn(sha, theirs);
    this.#fields = merged.content.fields;
    this.#apply(merged.edits);
    const marks = new Set([...merged.taken, ...(merged.bodyTaken ? ['body'] : [])]);
    this.update({ marks: marks.size > 0 ? marks : this.#state.marks });
    void this.keep();
  }

  /** Drops what was changed. @param content what is stored, if something else than what was read */
  async discard(sha = this.sha, content = this.base): Promise<void> {
    const untouched = sha === null ? this.#untouched : null;
    this.#moveOn(sha, content);
    this.show(untouched?.content ?? content);
    if (untouched && this.begun) this.begun = untouched.content;
    this.update({ faults: new Map(), marks: new Set(), ...(untouched && { slug: untouched.slug }) });
    await this.keep();
  }

  /** Takes up what a local draft has kept, on the version it was made from. */
  restore(draft: LocalDraft): void {
    this.sha = draft.base_sha;
    this.base = { fields: draft.base.fields, body: draft.base.text, raw: draft.base.raw };
    this.#fields = draft.fields;
    this.#unparsed = new Map(draft.unparsed);
    this.#replaceText(draft.raw ?? draft.text);
    this.update({ keeping: 'kept', ...(draft.slug !== null && { slug: draft.slug }) });
  }

  /** Takes up what another tab has written down. */
  async reread(): Promise<void> {
    const draft = await readLocalDraft(this.key).catch(() => undefined);
    if (draft) this.restore(draft);
  }

  /** The entry is edited elsewhere from now on: on another branch, or under another slug. The draft goes with it. */
  async moveTo(key: DraftKey): Promise<void> {
    const before = this.key;
    this.movedFrom = before;
    this.key = key;
    await this.keep();
    await removeLocalDraft(before).catch(() => {});
  }
}
