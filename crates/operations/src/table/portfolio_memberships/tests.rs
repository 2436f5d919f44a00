use crate::decision_scene::DecisionScene;

#[test]
fn a_list_of_portfolio_memberships_is_of_a_portfolio_or_of_a_user() {
    let scene = DecisionScene::new();
    let acme = scene.acme;
    let list = |query: String| scene.described(scene.ann, "getPortfolioMemberships", &query);
    let nothing = list(String::new()).unwrap_err().message;
    assert_eq!(nothing, "portfolio: Missing input");
    let no_user = list(format!("workspace={acme}")).unwrap_err().message;
    assert_eq!(no_user, "user: Missing input");
    let no_workspace = list("user=me".to_owned()).unwrap_err().message;
    assert_eq!(no_workspace, "portfolio: Missing input");
    let of_user = list(format!("workspace={acme}&user=me")).unwrap();
    assert_eq!(of_user.anchor, "user");
    assert_eq!(list("portfolio=7".to_owned()).unwrap().anchor, "portfolio");
}
