import { type Handler, Parser } from 'htmlparser2';
import { type Collector, DocumentBase } from '../collector.ts';
import { readCss } from '../css/read-css.ts';
import type { RobotsDirectives } from '../page-facts.ts';
import { decodedAttributes, pageParserOptions } from './decoded-attributes.ts';
import { applyMeta } from './directives.ts';
import { type Attributes, takeElement } from './elements.ts';
import { OpenForm } from './open-form.ts';

/** Elements inside elements; deeper documents are made to exhaust whoever reads them. */
export const maxNesting = 5_000;
/** Documents inside of `srcdoc` attributes inside of documents. */
const maxInner = 10;

/** What the parser of a page (`pageParserOptions`) tells, turned into addresses and directives. */
export class PageHandler implements Partial<Handler> {
  isTooDeep = false;
  isStopped = false;
  goOn: () => boolean = () => true;
  readonly #collector: Collector;
  readonly #robots: RobotsDirectives;
  readonly #base: DocumentBase;
  readonly #level: number;
  #depth = 0;
  /** Templates that are open: their content is no part of the document, so no `<base>` there counts. */
  #templates = 0;
  #form: OpenForm | null = null;
  /** Of an open `<style>`. */
  #style: string[] | null = null;

  /** @param around address of the document, or the base of the page whose `srcdoc` this is */
  constructor(collector: Collector, robots: RobotsDirectives, around: string | DocumentBase, level = 0) {
    this.#collector = collector;
    this.#robots = robots;
    this.#base = new DocumentBase(around);
    this.#level = level;
  }

  onopentag(name: string, written: Attributes): void {
    if (this.isTooDeep || this.isStopped) return;
    this.#depth += 1;
    if (this.#depth > maxNesting) {
      this.isTooDeep = true;
      return;
    }
    const attributes = decodedAttributes(written);
    this.#form?.element(name, attributes);
    takeElement(name, attributes, this.#collector, this.#base);
    this.#special(name, attributes);
    if (attributes.style?.includes('(')) this.#readStyle(attributes.style);
  }

  onclosetag(name: string): void {
    this.#depth -= 1;
    if (name === 'template') this.#templates -= 1;
    else if (name === 'form') this.#closeForm();
    else if (name === 'style' && this.#style) {
      this.#readStyle(this.#style.join(''));
      this.#style = null;
    }
  }

  ontext(text: string): void {
    this.#style?.push(text);
  }

  #special(name: string, attributes: Attributes): void {
    if (name === 'base' && attributes.href !== undefined && this.#templates === 0) {
      if (this.#base.set(attributes.href)) this.#collector.rebase();
    } else if (name === 'template') this.#templates += 1;
    else if (name === 'form') this.#form = new OpenForm(attributes);
    else if (name === 'style') this.#style = isCss(attributes.type) ? [] : null;
    else if (name === 'iframe' && attributes.srcdoc) this.#readInner(attributes.srcdoc);
    else if (name === 'meta' && this.#level === 0 && attributes.content) {
      applyMeta(this.#robots, (attributes.name ?? '').trim().toLowerCase(), attributes.content);
    }
  }

  #closeForm(): void {
    const target = this.#form?.target ?? null;
    if (target !== null) this.#collector.page(target, 'form', this.#base);
    this.#form = null;
  }

  #readStyle(text: string): void {
    if (!this.#collector.wantsAssets || this.isStopped) return;
    const take = (written: string, relation: string) => this.#collector.asset(written, relation, this.#base);
    readCss(text, take, () => this.#check());
  }

  #readInner(html: string): void {
    if (this.#level === maxInner || this.isStopped) return;
    const inner = new PageHandler(this.#collector, this.#robots, this.#base, this.#level + 1);
    inner.goOn = () => this.#check();
    new Parser(inner, pageParserOptions).end(html);
    this.isTooDeep ||= inner.isTooDeep;
  }

  #check(): boolean {
    this.isStopped ||= !this.goOn();
    return !this.isStopped;
  }
}

const isCss = (type: string | undefined) => !type || type.trim().toLowerCase() === 'text/css';
