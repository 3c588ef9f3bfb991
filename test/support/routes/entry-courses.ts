/** What becomes of an entry with an image in each fixture site, as the framework's documentation has it. */
export interface EntryCourse {
  collection: string;
  /** Where its image lies, and the path of the site that it has there, if it has one. */
  image: string;
  published?: string;
  body: string;
  /** What the dashboard puts into the text for the image, with `Inserted` for those who do not see it. */
  inserted: string;
  created: { slug: string; path: string; url: string };
  /** The slug it is made with and renamed to, where that is not the one it has then. */
  as?: string;
  to?: string;
  renamed: { slug: string; path: string; url: string; body?: string };
  /** Where the image lies when it moved along with the entry. */
  moved?: string;
}

export const entryCourses = {
  astro: {
    collection: 'posts',
    image: 'src/content/posts/photo.png',
    body: '![A](./photo.png)\n',
    inserted: '![Inserted](./photo.png)',
    created: { slug: 'new', path: 'src/content/posts/new.md', url: '/base/blog/new/' },
    renamed: {
      slug: 'deep/other',
      path: 'src/content/posts/deep/other.md',
      url: '/base/blog/deep/other/',
      body: '![A](../photo.png)\n',
    },
  },
  starlight: {
    collection: 'docs',
    image: 'src/assets/photo.png',
    body: '![A](../../../assets/photo.png)\n',
    inserted: '![Inserted](../../../assets/photo.png)',
    created: { slug: 'guides/new', path: 'src/content/docs/guides/new.md', url: '/handbook/guides/new/' },
    renamed: {
      slug: 'new',
      path: 'src/content/docs/new.md',
      url: '/handbook/new/',
      body: '![A](../../assets/photo.png)\n',
    },
  },
  docusaurus: {
    collection: 'docs',
    image: 'docs/img/photo.png',
    body: '![A](./img/photo.png)\n',
    inserted: '![Inserted](./img/photo.png)',
    created: { slug: '04-new', path: 'docs/04-new.md', url: '/base/handbook/coming/new' },
    renamed: {
      slug: 'deep/05-other',
      path: 'docs/deep/05-other.md',
      url: '/base/handbook/coming/deep/other',
      body: '![A](../img/photo.png)\n',
    },
  },
  hugo: {
    collection: 'posts',
    image: 'content/posts/new/photo.png',
    body: '![A](photo.png)\n',
    inserted: '![Inserted](./photo.png)',
    created: { slug: 'new', path: 'content/posts/new/index.md', url: '/base/posts/new/' },
    as: 'new/index',
    renamed: { slug: 'other', path: 'content/posts/other/index.md', url: '/base/posts/other/' },
    moved: 'content/posts/other/photo.png',
  },
  hexo: {
    collection: 'posts',
    image: 'source/_posts/2023-05-06-new/photo.png',
    body: '{% asset_img photo.png A %}\n',
    inserted: '{% asset_img photo.png \'"" "Inserted"\' %}',
    created: {
      slug: '2023-05-06-new',
      path: 'source/_posts/2023-05-06-new.md',
      url: '/base/en/2023/5/06/new/',
    },
    renamed: {
      slug: '2023-05-07-other',
      path: 'source/_posts/2023-05-07-other.md',
      url: '/base/en/2023/5/07/other/',
    },
    moved: 'source/_posts/2023-05-07-other/photo.png',
  },
  eleventy: {
    collection: 'guide',
    image: 'src/assets/photo.png',
    published: '/base/assets/photo.png',
    body: '![A]({{ "/assets/photo.png" | url }})\n',
    inserted: '![Inserted](/base/assets/photo.png)',
    created: { slug: 'new', path: 'src/guide/new.md', url: '/base/guide/new/' },
    renamed: { slug: 'deep/other', path: 'src/guide/deep/other.md', url: '/base/guide/deep/other/' },
  },
  mkdocs: {
    collection: 'text',
    image: 'text/guide/photo.png',
    published: '/base/guide/photo.png',
    body: '![A](photo.png)\n',
    inserted: '![Inserted](./photo.png)',
    created: { slug: 'guide/new', path: 'text/guide/new.md', url: '/base/guide/new/' },
    renamed: { slug: 'new', path: 'text/new.md', url: '/base/new/', body: '![A](guide/photo.png)\n' },
  },
  'nuxt-content': {
    collection: 'blog',
    image: 'public/photo.png',
    published: '/base/photo.png',
    body: '![A](/photo.png)\n',
    inserted: '![Inserted](/photo.png)',
    created: { slug: '03.new', path: 'content/blog/03.new.md', url: '/base/blog/new' },
    renamed: { slug: 'other', path: 'content/blog/other.md', url: '/base/blog/other' },
  },
  jekyll: {
    collection: 'posts',
    image: 'assets/photo.png',
    published: '/base/assets/photo.png',
    body: '![A]({{ "/assets/photo.png" | relative_url }})\n',
    inserted: '![Inserted](/base/assets/photo.png)',
    created: { slug: '_posts/2020-03-04-new', path: '_posts/2020-03-04-new.md', url: '/base/2020/03/04/new.html' },
    renamed: {
      slug: 'blog/_posts/2020-03-05-other',
      path: 'blog/_posts/2020-03-05-other.md',
      url: '/base/blog/2020/03/05/other.html',
    },
  },
  vitepress: {
    collection: 'pages',
    image: 'pages/public/photo.png',
    published: '/base/photo.png',
    body: '![A](/photo.png)\n',
    inserted: '![Inserted](/photo.png)',
    created: { slug: 'guide/new', path: 'pages/guide/new.md', url: '/base/guide/new' },
    to: 'guide/other/index',
    renamed: { slug: 'guide/other', path: 'pages/guide/other/index.md', url: '/base/guide/other/' },
  },
} satisfies Record<string, EntryCourse>;
