export default () => <h1>Component</h1>;
